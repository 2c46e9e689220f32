// The playlist: order, additions and removals.

import { command, get } from "./api.js";
import { $, align, ask, dress, icon, iconButton, make, say, tell } from "./dom.js";
import { act, setThumb, thumb } from "./now.js";
import { makeSortable } from "./sorting.js";
import { on, refreshPlaylist, state } from "./store.js";
import { basename } from "./words.js";

let isOpen = () => false;
let sorting;

export const probe = () => get("playlist").catch((refusal) => { if (refusal.status === 404) throw refusal; });

/** Starts the part. */
export function start(asksWhetherOpen) {
    isOpen = asksWhetherOpen;
    sorting = makeSortable($("#items"), move);
    $("#add-items").addEventListener("submit", add);
    $("#playlist-back").addEventListener("click", goBack);
    on("playlist", update);
    on("item", update);
    on("folder", update);
    setInterval(() => { if (isOpen() && document.visibilityState === "visible" && state.link === "open") refreshPlaylist(); }, 10_000);
}

export const enter = () => {
    update();
    refreshPlaylist();
};

function update() {
    if (!isOpen() || !state.playlist || sorting.isBusy) return;
    const { items } = state.playlist;
    align($("#items"), items, (item) => item.id, makeRow, (row, item, index) => {
        const isOn = item.id === state.status?.item?.id;
        row.toggleAttribute("aria-current", isOn);
        if (isOn) row.setAttribute("aria-current", "true");
        $(".badge", row).hidden = !isOn;
        tell($(".name", row), item.title);
        tell($(".source", row), item.source);
        setThumb($(".thumb", row), item.source);
        dress($(".grip", row), "grip", `Move ${item.title}, item ${index + 1} of ${items.length}`);
        dress($(".play", row), "play", `Play ${item.title}`);
        dress($(".remove", row), "remove", `Remove ${item.title}`);
    });
    tell($("#playlist-help"), items.length === 0 ? "The playlist is empty. Add a file below."
        : items.length === 1 ? "The playlist has one item. It plays again and again."
            : "Drag an item by its handle. On a keyboard, focus the handle and press the up or down arrow.");
    $("#add-files").replaceChildren(...(state.folder?.files ?? []).map((file) => make("option", { value: file.name })));
}

function makeRow(item) {
    return make("li", {},
        make("button", { type: "button", class: "bare grip" }, icon("grip")),
        thumb(item.source),
        make("span", { class: "words" }, make("span", { class: "name" }), make("span", { class: "source" })),
        make("span", { class: "acts" },
            make("span", { class: "badge" }, "On now"),
            iconButton("play", "", () => act("play", { item: `id:${item.id}` }), "play"),
            iconButton("remove", "", () => remove(item), "remove")));
}

async function move(row, to) {
    const title = $(".name", row).textContent;
    try {
        await command("playlist move", { item: `id:${row.dataset.key}`, to: to + 1 });
        say(`${title} is now item ${to + 1} of ${$("#items").childElementCount}.`);
    } catch (refusal) {
        say(refusal.message, { bad: true });
    }
    await refreshPlaylist();
}

async function remove(item) {
    const place = state.playlist.items.findIndex((other) => other.id === item.id);
    const rows = $("#items").children;
    try {
        await command("playlist remove", { item: `id:${item.id}` });
        await refreshPlaylist();
        // The focus goes to the next row, or from the last one to the one before it.
        const row = rows[Math.min(place, rows.length - 1)];
        (row ? $(".remove", row) : $("#add-source")).focus();
        say(`Removed ${item.title}.`, { action: ["Undo", async () => {
            await act("playlist insert", { before: place + 1, sources: [item.source] });
            refreshPlaylist();
        }] });
    } catch (refusal) {
        say(refusal.message, { bad: true });
    }
}

/** Returns the source of a name in the folder of this page, or the text itself. */
export const sourceOf = (text) => {
    const file = state.folder?.files.find((other) => other.name === text);
    return file ? `${state.folder.root}/${file.name}` : text;
};

async function add(event) {
    event.preventDefault();
    const field = $("#add-source");
    const text = field.value.trim();
    if (!text) return;
    const source = sourceOf(text);
    if (!/^\/|^[a-z][a-z0-9+.-]*:/i.test(source)) {
        say("Choose a file of this screen, or write a path that begins with /, or an address.", { bad: true });
        field.focus();
        return;
    }
    const answer = await place(source, $("#add-place").value);
    if (!answer) return;
    field.value = "";
    say(`Added ${basename(source)}.`);
    refreshPlaylist();
}

/** Adds a source at the "end", or "next": after the item on the screen. */
export function place(source, where) {
    const now = state.status?.item?.place ?? 0;
    const sources = [source];
    return where === "next" ? act("playlist insert", { before: now + 1, sources }) : act("playlist append", { sources });
}

async function goBack() {
    const isSure = await ask({
        title: "Go back to the playlist of kiosk.conf?", yes: "Go back",
        text: "kiosk reads kiosk.conf again. Your changes to the playlist are lost.",
    });
    if (isSure && await act("reload")) setTimeout(refreshPlaylist, 500);
}
