// What is on the screen: picture, position, transport and loudness.

import { command } from "./api.js";
import { $, align, calm, draw, dress, icon, iconButton, make, say, tell } from "./dom.js";
import { startPicture } from "./picture.js";
import { showScreen } from "./screen.js";
import { on, position, soon, state, thumbnail } from "./store.js";
import { clock, plural, spoken } from "./words.js";

let isOpen = () => false;
/** The position that the viewer chooses at the moment, or null. */
let aimed = null;
let loudness = null;

/** Carries out a command of a button, and says a refusal. Another seek or skip that came between is no fault. */
export async function act(name, parameters = {}) {
    try {
        const answer = await command(name, parameters);
        if (answer.shown === false) say("Done. No display shows it.");
        return answer;
    } catch (refusal) {
        if (refusal.code !== "superseded") say(refusal.message, { bad: true });
        return null;
    } finally {
        soon();
    }
}

/** Starts the part. */
export function start(asksWhetherOpen) {
    isOpen = asksWhetherOpen;
    buildTransport();
    startScrubber();
    startLoudness();
    startPicture();
    showScreen($("#now-frame"), $("#now-caption"), isOpen);
    on("status", update);
    on("link", update);
    on("playlist", listNext);
    on("folder", listNext);
    on("item", listNext);
    on("export", tellExport);
    setInterval(() => { if (isOpen() && state.status?.state === "playing") move(); }, 250);
}

export const enter = () => {
    update();
    listNext();
};

function buildTransport() {
    const box = $("#now .transport");
    const toggle = iconButton("play", "Play", () => act(state.status?.state === "paused" ? "play" : "pause"), "big");
    toggle.id = "toggle";
    box.append(
        iconButton("previous", "Previous item", () => act("previous")),
        iconButton("back", "Seek back", () => act("seek-back")),
        toggle,
        iconButton("forward", "Seek forward", () => act("seek-forward")),
        iconButton("next", "Next item", () => act("next")),
        make("span", { class: "break" }),
        make("button", { type: "button", class: "word", click: () => act("restart") }, "Begin again"),
        make("button", { type: "button", class: "word", click: () => act("restart-playlist") }, "First item"),
        make("button", {
            type: "button", class: "word", title: "Go on from an item that waits for a tap", click: () => act("go-on"),
        }, "Go on"));
}

function startScrubber() {
    const slider = $("#position");
    const seek = calm(200, async (to) => {
        await act("seek", { to });
        if (aimed === to) aimed = null;
    });
    slider.addEventListener("input", () => {
        aimed = Number(slider.value);
        move();
    });
    slider.addEventListener("change", () => {
        aimed = Number(slider.value);
        seek(aimed);
    });
    slider.addEventListener("keydown", (event) => {
        const step = { PageUp: 30, PageDown: -30, ArrowRight: 5, ArrowUp: 5, ArrowLeft: -5, ArrowDown: -5 }[event.key];
        if (!step) return;
        event.preventDefault();
        aimed = Math.max(0, Math.min(Number(slider.max), (aimed ?? position()) + step));
        move();
        seek(aimed);
    });
}

function startLoudness() {
    const slider = $("#volume");
    const set = calm(120, async (to) => {
        await act("volume", { to });
        if (loudness === to) loudness = null;
    });
    slider.addEventListener("input", () => {
        loudness = Number(slider.value);
        tellLoudness();
        set(loudness);
    });
    $("#mute").addEventListener("click", async () => {
        const answer = await act("mute", { on: !state.status?.muted });
        if (answer && state.status) {
            state.status.muted = answer.muted;
            tellLoudness();
        }
    });
}

function update() {
    if (!isOpen()) return;
    const status = state.status;
    for (const control of document.querySelectorAll("#now button, #now input, #now select")) {
        control.disabled = !status || !state.player || state.link !== "open";
    }
    if (!status) {
        tell($("#title"), state.player ? "" : "No player");
        tell($("#standing"), "");
        return;
    }
    tell($("#title"), status.item?.title || "Nothing is on");
    const isAway = !state.player || state.link !== "open";
    tell($("#standing"), isAway ? "The last known state" : standing(status));
    $("#now-frame").classList.toggle("stale", isAway);
    dress($("#toggle"), status.state === "paused" ? "play" : "pause", status.state === "paused" ? "Play" : "Pause");
    const hasLength = status.item && status.duration !== null && status.duration > 0;
    $("#scrub").hidden = !hasLength;
    if (hasLength) {
        $("#position").max = status.duration;
        $("#position").disabled ||= status.seekable.length === 0;
        drawRanges(status);
        tell($("#duration"), clock(status.duration));
        move();
    }
    tellLoudness();
}

function standing(status) {
    const parts = [status.ended ? "Ended" : { playing: "Playing", paused: "Paused", waiting: "Waiting" }[status.state] ?? status.state];
    if (status.item?.place && status.count > 1) parts.push(`item ${status.item.place} of ${status.count}`);
    if (status.live) parts.push(status.latency === null ? "live" : `live, ${status.latency.toFixed(1)} s behind`);
    if (status.rate !== 1) parts.push(`speed ${status.rate}`);
    if (status.interrupted) parts.push("sound interrupted");
    if (!status.display) parts.push("no display");
    return parts.join(", ");
}

function move() {
    const slider = $("#position");
    const time = aimed ?? position();
    const length = Number(slider.max) || 1;
    slider.value = time;
    slider.style.setProperty("--played", `${Math.min(100, 100 * time / length)}%`);
    slider.setAttribute("aria-valuetext", `${spoken(time)} of ${spoken(length)}`);
    tell($("#time"), clock(time));
}

function drawRanges(status) {
    const key = JSON.stringify(status.loaded);
    const svg = $("#ranges");
    if (svg.dataset.key === key) return;
    svg.dataset.key = key;
    svg.replaceChildren(...status.loaded.map(({ from, to }) => draw("rect", {
        x: 1000 * from / status.duration, y: 0, height: 6, width: Math.max(0, 1000 * (to - from) / status.duration),
    })));
}

function tellLoudness() {
    const status = state.status;
    const value = loudness ?? status?.volume ?? 0;
    const slider = $("#volume");
    slider.value = value;
    slider.style.setProperty("--played", `${value}%`);
    slider.setAttribute("aria-valuetext", status?.muted ? `${value} %, muted` : `${value} %`);
    tell($("#volume-out"), `${value} %`);
    $("#mute").setAttribute("aria-pressed", String(Boolean(status?.muted)));
    dress($("#mute"), status?.muted ? "silent" : "sound", "Mute");
}

/** Makes a small picture of an item, or the icon of a film. */
export function thumb(source) {
    const box = make("span", { class: "thumb" }, icon("film"));
    setThumb(box, source);
    return box;
}

/** Shows the thumbnail of another source. */
export function setThumb(box, source) {
    const address = thumbnail(source) ?? "";
    if ((box.dataset.address ?? "") === address) return;
    box.dataset.address = address;
    if (!address) {
        box.replaceChildren(icon("film"));
        return;
    }
    const picture = make("img", { src: address, alt: "", loading: "lazy", decoding: "async", width: 80, height: 45 });
    picture.addEventListener("error", () => box.replaceChildren(icon("film")));
    box.replaceChildren(picture);
}

function listNext() {
    if (!isOpen() || !state.playlist) return;
    const items = state.playlist.items;
    const place = items.findIndex((item) => item.id === state.status?.item?.id);
    const following = [...items.slice(place + 1), ...items.slice(0, Math.max(place, 0))].slice(0, 5);
    align($("#next"), following, (item) => item.id, (item) => make(
        "li", {}, thumb(item.source), make("span", { class: "name" }),
        iconButton("play", "", () => act("play", { item: `id:${item.id}` }))), (row, item) => {
        tell($(".name", row), item.title);
        setThumb($(".thumb", row), item.source);
        dress($("button", row), "play", `Play ${item.title}`);
    });
    tell($("#up-next"), following.length ? `Next, of ${plural(items.length, "item")}` : "Nothing else is on the playlist");
}

function tellExport(event) {
    const box = $("#making");
    box.hidden = false;
    $("#making-bar").value = event.file ? 1 : event.done ?? 0;
    const left = Number.isFinite(event.left) ? `, ${spoken(event.left)} left` : "";
    tell($("#making-text"), event.problem ? event.problem : event.file ? `Ready: ${event.file}`
        : `${Math.round(100 * (event.done ?? 0))} %${left}`);
}
