// Overlays: their texts, for a time or until somebody changes them.

import { get } from "./api.js";
import { $, align, make, tell } from "./dom.js";
import { act } from "./now.js";
import { on } from "./store.js";
import { spoken } from "./words.js";

const durations = [
    ["", "Until changed"], ["30s", "30 seconds"], ["1m", "1 minute"], ["5m", "5 minutes"], ["1h", "1 hour"], ["8h", "8 hours"],
];
let isOpen = () => false;
let timer = null;

export const probe = () => get("overlay").catch((refusal) => { if (refusal.status === 404) throw refusal; });

const options = () => durations.map(([value, label]) => make("option", { value }, label));

/** Starts the part. */
export function start(asksWhetherOpen) {
    isOpen = asksWhetherOpen;
    $("#new-for").append(...options());
    $("#new-text").addEventListener("submit", async (event) => {
        event.preventDefault();
        if (await show($("#new-name").value.trim(), $("#new-words").value, $("#new-for").value)) $("#new-words").value = "";
    });
    on("link", refresh);
}

export const enter = refresh;
export const leave = () => clearTimeout(timer);

async function show(name, text, duration) {
    const answer = await act("overlay", { name, ...(text && { text }), ...(text && duration && { for: duration }) });
    if (answer) update(answer);
    return answer;
}

async function refresh() {
    clearTimeout(timer);
    if (!isOpen()) return;
    try {
        update(await get("overlay"));
    } catch { /* The page tells of an absent player elsewhere. */ }
    timer = setTimeout(refresh, 5000);
}

function update({ overlays }) {
    align($("#texts"), overlays, (overlay) => overlay.name, makeForm, (row, overlay) => {
        const isReplaced = overlay.text !== null && overlay.text !== undefined;
        const field = $("input", row);
        if (document.activeElement !== field && isReplaced && !row.dataset.touched) field.value = overlay.text;
        tell($(".standing", row), isReplaced
            ? (Number.isFinite(overlay.left) ? `Your text, for another ${spoken(overlay.left)}` : "Your text, until changed")
            : "Its own content of kiosk.conf");
        $(".restore", row).disabled = !isReplaced;
    });
}

function makeForm(overlay) {
    const id = `overlay-${overlay.name.replace(/[^a-z0-9]/gi, (character) => `-${character.codePointAt(0)}`)}`;
    const row = make("li", {});
    const field = make("input", { id, maxlength: 1000, required: true, autocomplete: "off", input: () => { row.dataset.touched = "1"; } });
    const duration = make("select", { id: `${id}-for` }, ...options());
    row.append(make("form", { class: "card stack", submit: async (event) => {
        event.preventDefault();
        if (await show(overlay.name, field.value, duration.value)) delete row.dataset.touched;
    } },
    make("div", {}, make("h2", {}, overlay.name), make("p", { class: "standing small quiet" })),
    make("div", { class: "field" }, make("label", { for: id }, "Text"), field),
    make("div", { class: "row" }, make("div", { class: "field grow" }, make("label", { for: duration.id }, "Duration"), duration),
        make("button", { type: "button", class: "restore", "aria-label": `Restore ${overlay.name}`, click: async () => {
            delete row.dataset.touched;
            if (await show(overlay.name, "", "")) field.value = "";
        } }, "Restore"),
        make("button", { type: "submit", class: "main", "aria-label": `Show the text in ${overlay.name}` }, "Show"))));
    return row;
}
