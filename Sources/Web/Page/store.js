// The state of the player and the screen, as the server tells it: one stream of events, and `status` where events tell less.

import { get, root } from "./api.js";

/** The state: `link` is "opening", "open" or "lost"; `player` false while none answers; `status` and `playlist` are its last answers. */
export const state = { session: null, link: "opening", player: true, status: null, stamp: 0, playlist: null, folder: null, retryAt: 0 };

const listeners = new Map();

/** Calls `action` after each change of a topic: "link", "status", "item", "playlist", or a kind of event. Returns its end. */
export function on(topic, action) {
    if (!listeners.has(topic)) listeners.set(topic, new Set());
    listeners.get(topic).add(action);
    return () => listeners.get(topic).delete(action);
}

/** Calls the functions of a topic. */
export function publish(topic, value) {
    for (const action of listeners.get(topic) ?? []) action(value);
}

const watched = "status,item,time,display,audio,failure,export,record";
const longestPause = 30_000;
let source = null;
let pause = 1000;
let timer = null;
let sleeping = null;
let wanted = false;

/** Opens the stream of events, and keeps it open while the page is looked at. */
export function connect() {
    wanted = true;
    clearTimeout(timer);
    source?.close();
    if (state.link !== "lost") setLink("opening");
    source = new EventSource(`${root}events?watch=${watched}`);
    source.addEventListener("open", () => {
        pause = 1000;
        setLink("open");
        refresh();
        refreshPlaylist();
    });
    source.addEventListener("error", retry);
    for (const kind of watched.split(",")) source.addEventListener(kind, (event) => receive(kind, parse(event.data)));
    source.addEventListener("player", (event) => setPlayer(parse(event.data).connected !== false));
}

/** Closes the stream. */
export function disconnect() {
    wanted = false;
    clearTimeout(timer);
    source?.close();
    source = null;
}

// EventSource itself retries without back-off, and not after a refusal.
function retry() {
    source?.close();
    source = null;
    if (!wanted) return;
    state.retryAt = Date.now() + pause;
    setLink("lost");
    timer = setTimeout(connect, pause * (0.75 + Math.random() / 2));
    pause = Math.min(pause * 2, longestPause);
    // A stream tells no status: the session may have ended.
    get("session").then((session) => publish("session", session)).catch(() => {});
}

function parse(text) {
    try {
        return JSON.parse(text) ?? {};
    } catch {
        return {};
    }
}

function setLink(link) {
    state.link = link;
    publish("link");
}

function setPlayer(isThere) {
    if (state.player === isThere) return;
    state.player = isThere;
    publish("link");
    if (isThere) {
        refresh();
        refreshPlaylist();
        publish("item");
    }
}

function receive(kind, event) {
    if (event.error) return;
    setPlayer(true);
    const status = state.status;
    if (kind === "time" && status) {
        const isOther = event.item?.id !== status.item?.id;
        Object.assign(status, { time: event.time, duration: event.duration, item: event.item });
        state.stamp = performance.now();
        publish("status");
        if (isOther) publish("item");
    } else if (kind === "status" && status) {
        Object.assign(status, { state: event.state, ended: event.ended, time: position() });
        state.stamp = performance.now();
        publish("status");
    }
    publish(kind === "status" || kind === "item" ? `event-${kind}` : kind, event);
    if (kind !== "time") soon();
    if (kind === "item") refreshPlaylist();
}

let soonTimer = null;

/** Asks for `status` in a moment, once for several calls. */
export function soon() {
    clearTimeout(soonTimer);
    soonTimer = setTimeout(refresh, 120);
}

/** Asks for `status`. */
export async function refresh() {
    try {
        const former = state.status;
        state.status = await get("status");
        state.stamp = performance.now();
        setPlayer(true);
        publish("status");
        if (former?.item?.id !== state.status.item?.id) publish("item");
        if (former?.count !== state.status.count) refreshPlaylist();
    } catch (refusal) {
        if (refusal.status === 502 || refusal.status === 503) setPlayer(false);
    }
}

/** Asks for the playlist. */
export async function refreshPlaylist() {
    try {
        state.playlist = await get("playlist");
        publish("playlist");
    } catch { /* The link and the player's absence are told elsewhere. */ }
}

/** Returns the position in the item now, in seconds: the last one, and the time since. */
export function position() {
    const status = state.status;
    if (!status) return 0;
    const since = status.state === "playing" && state.link === "open" && state.player ? (performance.now() - state.stamp) / 1000 : 0;
    const now = status.time + Math.min(since, 6) * (status.rate ?? 1);
    return Number.isFinite(status.duration) && status.duration !== null ? Math.min(now, status.duration) : now;
}

/** Returns an item's thumbnail, if its file is in the folder of this page. */
export function thumbnail(itemSource) {
    const folder = state.folder;
    if (!folder?.root || !itemSource?.startsWith(`${folder.root}/`)) return null;
    return folder.files.find((file) => `${folder.root}/${file.name}` === itemSource)?.thumbnail ?? null;
}

// Counts and loaded ranges have no events. A page out of sight asks for nothing, and after half a minute listens to nothing.
setInterval(() => {
    if (document.visibilityState === "visible" && state.link === "open") refresh();
}, 5000);
document.addEventListener("visibilitychange", () => {
    clearTimeout(sleeping);
    if (document.visibilityState === "visible") {
        if (wanted && !source) connect();
        else if (wanted) refresh();
    } else if (wanted) {
        sleeping = setTimeout(() => {
            clearTimeout(timer);
            source?.close();
            source = null;
        }, 30_000);
    }
});
addEventListener("online", () => { if (wanted && state.link === "lost") connect(); });
