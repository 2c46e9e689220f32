// Choices about the picture and the sound: tracks, speed, rotation, fit, place, the display, zones.

import { get } from "./api.js";
import { $, align, choose, draw, fillChoices, make, tell } from "./dom.js";
import { act } from "./now.js";
import { on, state } from "./store.js";
import { clock, language } from "./words.js";

const rates = [0.5, 0.75, 1, 1.25, 1.5, 2];
const places = [
    ["The whole screen", 0, 0, 100, 100], ["The left half", 0, 0, 50, 100], ["The right half", 50, 0, 50, 100],
    ["The top half", 0, 0, 100, 50], ["The bottom half", 0, 50, 100, 50], ["The corner at the bottom right", 65, 65, 33, 33],
];
let gravity = null;

/** Builds the controls, and keeps them in step with the player. */
export function startPicture() {
    $("#rate").append(...rates.map((rate) => make("option", { value: rate }, rate === 1 ? "Normal" : `${rate} times`)));
    $("#rate").addEventListener("change", () => act("rate", { to: Number($("#rate").value) }));
    fillChoices($("#rotation"), [[0, "0°"], [90, "90°"], [180, "180°"], [270, "270°"]], (to) => act("rotate", { to: Number(to) }));
    fillChoices($("#gravity"), [["fit", "Fit"], ["fill", "Fill"], ["stretch", "Stretch"]], async (to) => {
        gravity = (await act("gravity", { to }))?.gravity ?? gravity;
        choose($("#gravity"), gravity);
    });
    fillChoices($("#power"), [["on", "On"], ["off", "Off"], ["auto", "Schedule"]], async (to) => tellPower(await act("display", { to })));
    buildPlaces();
    on("status", update);
    on("item", updateTracks);
    on("part", refreshMore);
    on("display", refreshMore);
    refreshMore();
    updateTracks();
}

function buildPlaces() {
    const fields = ["x", "y", "width", "height"].map((name) => $(`#region-${name}`));
    const send = () => {
        const [x, y, width, height] = fields.map((field) => Number(field.value));
        const within = $("#region-within").value;
        act("region", { x, y, width, height, ...(within && { within: Number(within) }) });
    };
    $("#region .presets").append(...places.map(([name, ...numbers]) => {
        const button = make("button", { type: "button", title: name, "aria-label": name, click: () => {
            fields.forEach((field, index) => { field.value = numbers[index]; });
            send();
        } });
        const [x, y, width, height] = numbers;
        const screen = { viewBox: "0 0 100 100", preserveAspectRatio: "none", "aria-hidden": "true" };
        button.append(draw("svg", screen, draw("rect", { x, y, width, height })));
        return button;
    }));
    $("#region form").addEventListener("submit", (event) => {
        event.preventDefault();
        send();
    });
}

function update() {
    const status = state.status;
    if (!status) return;
    const rate = $("#rate");
    if (document.activeElement !== rate) {
        if (![...rate.options].some((option) => Number(option.value) === status.rate)) {
            rate.append(make("option", { value: status.rate }, `${status.rate} times`));
        }
        rate.value = String(status.rate);
    }
    if (!$("#rotation").contains(document.activeElement)) choose($("#rotation"), status.rotation);
    if (status.gravity) choose($("#gravity"), status.gravity);
}

const tellPower = (answer) => { if (answer) choose($("#power"), answer.order); };

/** Asks for what `status` does not tell. */
async function refreshMore() {
    if (!state.player) return;
    get("display").then(tellPower).catch(() => { $("#power").hidden = true; });
    get("zone").then(tellZones).catch(() => { $("#zones").hidden = true; });
}

function tellZones({ zones }) {
    $("#zones").hidden = zones.length === 0;
    align($("#zones ul"), zones, (zone) => zone.name, (zone) => {
        const button = (label, what) => make("button", { type: "button", "aria-label": `${label}: ${zone.name}`, click: async () => {
            const answer = await act("zone", { name: zone.name, do: what });
            if (answer) tellZones(answer);
        } }, label);
        return make("li", { class: "stack" }, make("p", {}, make("strong", {}, zone.name), " ", make("span", { class: "quiet" })),
            make("div", { class: "row" },
                button("Previous", "previous"), button("Play or pause", "toggle"), button("Next", "next"), button("Tap", "tap")));
    }, (row, zone) => {
        const item = typeof zone.item === "object" ? zone.item?.title : zone.item;
        const place = zone.place ? `${zone.place} of ${zone.count}` : null;
        tell($(".quiet", row), [item ?? "nothing", zone.state, place].filter(Boolean).join(", "));
    });
}

function trackName(track) {
    const parts = [track.language ? language(track.language) : track.title || `Track ${track.number}`];
    if (track.language && track.title) parts.push(track.title);
    if (track.forced) parts.push("forced");
    if (track.sdh) parts.push("SDH");
    if (track.channels > 2) parts.push(`${track.channels} channels`);
    return parts.join(", ");
}

/** Lists sound tracks, subtitles and chapters of the item on the screen. */
async function updateTracks() {
    const box = $("#tracks");
    let lists = [];
    try {
        const [tracks, chapters] = await Promise.all([get("tracks"), get("chapters").catch(() => ({ chapters: [] }))]);
        lists = [list("audio", "Sound track", tracks.tracks), list("subtitle", "Subtitles", tracks.tracks), chapterList(chapters.chapters)];
    } catch { /* Nothing is on the screen, or it is not open yet. */ }
    const had = box.contains(document.activeElement) ? document.activeElement.id : null;
    box.replaceChildren(...lists.filter(Boolean));
    box.hidden = box.childElementCount === 0;
    if (had) $(`#${had}`)?.focus();
}

function list(kind, label, all) {
    const tracks = all.filter((track) => track.kind === kind);
    if (tracks.length === 0 || (kind === "audio" && tracks.length < 2)) return null;
    const select = make("select", { id: `track-${kind}`, change: () => {
        const number = Number(select.value);
        act("select", { kind, track: Number.isNaN(number) ? select.value : number });
    } }, make("option", { value: "auto" }, "Automatic"), make("option", { value: "off" }, "Off"),
    ...tracks.map((track) => make("option", { value: track.number }, trackName(track))));
    select.value = String(tracks.find((track) => track.selected)?.number ?? "off");
    return make("div", { class: "field" }, make("label", { for: select.id }, label), select);
}

function chapterList(chapters) {
    if (chapters.length < 2) return null;
    const select = make("select", { id: "chapter", change: () => act("chapter", { to: Number(select.value) }) },
        ...chapters.map((chapter) => make("option", { value: chapter.number, selected: chapter.current },
            `${clock(chapter.start)} ${chapter.title || `Chapter ${chapter.number}`}`)));
    return make("div", { class: "field" }, make("label", { for: "chapter" }, "Chapter"), select);
}
