// The page: its parts, the session, and what it says about the connection.

import { get, post, request, setToken, onSignedOut } from "./api.js";
import { $, make, say, tell } from "./dom.js";
import { state, on, publish, connect, disconnect } from "./store.js";
import * as files from "./files.js";
import * as health from "./health.js";
import * as now from "./now.js";
import * as overlays from "./overlays.js";
import * as playlist from "./playlist.js";
import * as recording from "./recording.js";
import * as schedule from "./schedule.js";
import * as settings from "./settings.js";

// Each part starts once, says by `probe` whether the server offers it, and is told when it opens.
const parts = { now, playlist, files, health, overlays, schedule, recording, settings };
const offered = new Set();
let started = false;
let open = null;

/** The part that the page shows, by the address's fragment. */
const asked = () => {
    const name = location.hash.slice(1);
    return offered.has(name) ? name : "now";
};

function show(byViewer) {
    if (!started || !state.session?.authenticated) return;
    const name = asked();
    for (const part of Object.keys(parts)) $(`#${part}`).hidden = part !== name;
    for (const link of document.querySelectorAll("#parts a")) {
        const isCurrent = link.hash === `#${name}`;
        link.toggleAttribute("aria-current", isCurrent);
        if (isCurrent) link.setAttribute("aria-current", "page");
    }
    const further = $(`#parts .further a[href="#${name}"]`);
    $("#more").toggleAttribute("data-current", Boolean(further));
    fold(false);
    document.title = `${$(`#${name}-title`).textContent} · kiosk`;
    const former = open;
    open = name;
    if (former !== name) {
        if (former) parts[former].leave?.();
        parts[name].enter?.();
        publish("part");
    }
    if (byViewer) {
        scrollTo(0, 0);
        $(`#${name}-title`).focus({ preventScroll: true });
    }
}

function fold(isOpen) {
    $("#parts").classList.toggle("open", isOpen);
    $("#more").setAttribute("aria-expanded", String(isOpen));
}

/** Asks the server which parts it offers, and hides the others. */
async function probe() {
    await Promise.all(Object.entries(parts).map(async ([name, part]) => {
        let isThere = true;
        try {
            await part.probe?.();
        } catch (refusal) {
            isThere = !(refusal.isAbsent || refusal.code === "not-configured");
        }
        if (isThere) offered.add(name);
        else offered.delete(name);
        $(`#parts a[href="#${name}"]`).parentElement.hidden = !isThere;
    }));
}

async function enter() {
    $("#sign-in").hidden = true;
    $("#sign-out").hidden = !state.session.required;
    if (!started) {
        await probe();
        for (const part of Object.values(parts)) part.start?.(() => open !== null && parts[open] === part);
        started = true;
    }
    $("#parts").hidden = false;
    connect();
    open = null;
    show(false);
}

function leave(reason) {
    disconnect();
    if (open) parts[open].leave?.();
    open = null;
    $("#parts").hidden = true;
    $("#notice").hidden = true;
    for (const part of Object.keys(parts)) $(`#${part}`).hidden = true;
    tell($("#sign-in-reason"), reason);
    $("#sign-in").hidden = false;
    document.title = "Sign in · kiosk";
    tell($("#link"), "");
    $("#link").dataset.state = "";
    $("#password").focus();
}

function take(session) {
    state.session = session;
    setToken(session.csrf);
}

async function begin() {
    try {
        take(await get("session"));
    } catch (refusal) {
        if (refusal.status !== 404) {
            tell($("#link"), "");
            notice(refusal.message, begin);
            setTimeout(() => { if (!state.session) begin(); }, 3000);
            return;
        }
        take({ authenticated: true, required: false, scopes: [], csrf: "" });
    }
    $("#notice").hidden = true;
    if (state.session.authenticated) await enter();
    else leave("This screen asks for a password.");
}

function notice(text, again) {
    const box = $("#notice");
    if (box.dataset.text !== text) {
        box.replaceChildren(make("span", {}, text), again ? make("button", { type: "button", click: again }, "Try now") : "");
        box.dataset.text = text;
    }
    box.hidden = false;
}

function tellLink() {
    if (!state.session?.authenticated) return;
    const [text, look] = state.link === "lost" ? ["Not connected", "bad"] : state.link === "opening" ? ["Connecting", ""]
        : state.player ? ["Connected", "good"] : ["No player", "bad"];
    tell($("#link"), text);
    $("#link").dataset.state = look;
    if (state.link === "lost") notice("The connection to the screen is lost. This page tries again by itself.", connect);
    else if (!state.player && state.link === "open") {
        notice("The player does not run or does not answer. This page goes on as soon as it does.");
    } else $("#notice").hidden = true;
}

$("#sign-in-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = $("#sign-in-form button");
    const error = $("#sign-in-error");
    button.disabled = true;
    tell(error, "");
    try {
        take(await post("session", { password: $("#password").value }));
        $("#password").value = "";
        await enter();
        $("#now-title").focus();
    } catch (refusal) {
        const wait = refusal.retryAfter ? ` Try again in ${refusal.retryAfter} s.` : "";
        tell(error, refusal.status === 401 ? "This password is wrong."
            : refusal.status === 429 ? `Too many attempts.${wait}` : refusal.message);
        if (refusal.retryAfter) await new Promise((done) => setTimeout(done, Math.min(refusal.retryAfter, 60) * 1000));
        $("#password").select();
    } finally {
        button.disabled = false;
    }
});

$("#sign-out").addEventListener("click", async () => {
    try {
        await request("DELETE", "session");
        take(await get("session"));
        if (!state.session.authenticated) leave("You have signed out.");
    } catch (refusal) {
        say(refusal.message, { bad: true });
    }
});

$("#more").addEventListener("click", () => fold($("#more").getAttribute("aria-expanded") !== "true"));
document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && $("#parts").classList.contains("open")) {
        fold(false);
        $("#more").focus();
    }
});
document.addEventListener("click", (event) => { if (!event.target.closest("#parts")) fold(false); });
addEventListener("hashchange", () => show(true));
on("link", tellLink);
on("session", (session) => {
    take(session);
    if (!session.authenticated && $("#sign-in").hidden) leave("Your session has ended. Sign in again.");
});
onSignedOut(() => {
    if (state.session?.authenticated) {
        state.session.authenticated = false;
        leave("Your session has ended. Sign in again.");
    }
});
tell($("#place"), location.hostname);
begin();
