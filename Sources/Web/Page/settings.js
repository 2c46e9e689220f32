// kiosk.conf in an editor, with the mistakes beside their lines; earlier versions; the player's log level.

import { get, post, request } from "./api.js";
import { $, ask, calm, make, say, tell } from "./dom.js";
import { act } from "./now.js";
import { state } from "./store.js";
import { moment, plural } from "./words.js";

const levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
let saved = { text: "", version: "" };
let complaints = [];
let checked = 0;
let isSaving = false;
const text = $("#conf");

export async function probe() {
    const answer = await get("configuration");
    saved = answer;
    complaints = answer.complaints ?? [];
}

/** Starts the part. */
export function start() {
    const check = calm(500, examine);
    text.addEventListener("input", () => {
        checked += 1;
        tell($("#verdict"), "");
        drawLines();
        check();
    });
    text.addEventListener("scroll", align);
    text.addEventListener("keydown", (event) => {
        if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        if (!$("#save").disabled) save();
    });
    $("#editor").addEventListener("submit", (event) => {
        event.preventDefault();
        save();
    });
    $("#revert").addEventListener("click", async () => {
        if (await ask({ title: "Discard your changes?", yes: "Discard", danger: true })) {
            fill(saved);
            text.focus();
        }
    });
    addEventListener("beforeunload", (event) => { if (isChanged()) event.preventDefault(); });
    $("#level-of-log").append(make("option", { value: "" }, "Choose"), ...levels.map((level) => make("option", { value: level }, level)));
    const level = $("#level-of-log");
    level.addEventListener("change", () => { if (level.value) act("log-level", { to: level.value }); });
    $("#reload").addEventListener("click", async () => { if (await act("reload")) say("The player has read kiosk.conf."); });
    fill(saved);
}

export async function enter() {
    tell($("#about"), state.status ? `kiosk ${state.status.version}, process ${state.status.pid}` : "");
    get("log-level").then(({ level }) => { $("#level-of-log").value = level; }).catch(() => {});
    if (!isChanged()) await load();
    else drawLines();
    listVersions();
}

const isChanged = () => text.value !== saved.text;

/** Reads kiosk.conf into the editor, unless somebody begins to type meanwhile. */
async function load() {
    const former = text.value;
    try {
        const answer = await get("configuration");
        if (text.value === former) fill(answer);
    } catch (refusal) {
        say(refusal.message, { bad: true });
    }
}

function fill(answer) {
    saved = { ...saved, ...answer };
    text.value = saved.text;
    // A browser turns CR LF into LF, so what it shows counts as what is saved.
    saved.text = text.value;
    complaints = answer.complaints ?? [];
    drawLines();
    tellVerdict();
}

async function examine() {
    const number = checked;
    try {
        const answer = await post("configuration/check", { text: text.value });
        if (number !== checked) return;
        complaints = answer.complaints;
        drawLines();
        tellVerdict();
    } catch (refusal) {
        tell($("#verdict"), refusal.message);
    }
}

function tellVerdict() {
    const verdict = $("#verdict");
    verdict.className = `small ${complaints.length ? "bad" : "good"}`;
    tell(verdict, complaints.length ? plural(complaints.length, "mistake") : "No mistakes");
}

/** Draws line numbers, and the mistakes beside their lines and below the editor. */
function drawLines() {
    const lines = text.value.split("\n");
    const wrong = new Map();
    for (const complaint of complaints) {
        if (!wrong.has(complaint.line)) wrong.set(complaint.line, complaint);
    }
    const gutter = $("#gutter");
    const key = `${lines.length}/${[...wrong.keys()]}`;
    if (gutter.dataset.key !== key) {
        gutter.dataset.key = key;
        const parts = [];
        let run = "";
        for (let line = 1; line <= lines.length; line += 1) {
            if (wrong.has(line)) {
                parts.push(run, make("span", { class: "wrong" }, String(line)), "\n");
                run = "";
            } else run += `${line}\n`;
        }
        gutter.replaceChildren(...parts, run, "\n\n");
    }
    $("#marks").replaceChildren(...[...wrong].filter(([line]) => line >= 1 && line <= lines.length).map(([line, complaint]) => {
        const mark = make("p", {}, make("i", {}, lines[line - 1] || " "), make("b", {}, complaint.message));
        mark.style.top = `calc(${line - 1} * 1.45em)`;
        return mark;
    }));
    align();
    $("#complaints").replaceChildren(...complaints.slice(0, 20).map((complaint) => make("li", {}, make("button", {
        type: "button", class: "bad", click: () => go(complaint),
    }, complaint.line ? `Line ${complaint.line}: ${complaint.message}` : complaint.message))));
    $("#save").disabled = isSaving || !isChanged() || complaints.length > 0;
    $("#revert").disabled = isSaving || !isChanged();
}

// Numbers and marks follow the text.
function align() {
    $("#gutter").scrollTop = text.scrollTop;
    $("#marks").style.transform = `translate(${-text.scrollLeft}px, ${-text.scrollTop}px)`;
}

function go({ line, column }) {
    const lines = text.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, other) => sum + other.length + 1, 0);
    text.focus();
    text.setSelectionRange(start + Math.max(0, (column ?? 1) - 1), start + (lines[line - 1]?.length ?? 0));
    text.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(text).lineHeight));
}

async function save() {
    const sent = text.value;
    isSaving = true;
    drawLines();
    try {
        const answer = await request("PUT", "configuration", { body: { text: sent, version: saved.version } });
        saved = { text: sent, version: answer.version };
        complaints = answer.complaints ?? [];
        say("Saved. The player takes the changes over.");
        listVersions();
    } catch (refusal) {
        if (refusal.status === 412) await settle(sent);
        else {
            complaints = refusal.body?.error?.complaints ?? complaints;
            say(refusal.message, { bad: true });
        }
    } finally {
        isSaving = false;
    }
    drawLines();
    tellVerdict();
}

/** Somebody else has saved meanwhile: the viewer's text replaces theirs, or theirs is read. */
async function settle(mine) {
    const theirs = await get("configuration").catch((refusal) => say(refusal.message, { bad: true }));
    if (!theirs) return;
    const keepsMine = await ask({
        title: "Somebody has changed kiosk.conf meanwhile", 
        text: "Save your text over theirs? After Cancel your text stays in the editor.", yes: "Save mine", danger: true,
    });
    if (!keepsMine) return;
    saved = { text: theirs.text, version: theirs.version };
    text.value = mine;
    await save();
}

async function listVersions() {
    const box = $("#history");
    try {
        const { history } = await get("configuration/history");
        box.hidden = history.length === 0;
        $("ul", box).replaceChildren(...history.map((version) => make("li", { class: "versions" },
            make("span", {}, moment(version.saved)),
            make("button", { type: "button", "aria-label": `Restore the version of ${moment(version.saved)}`,
                click: () => restore(version) }, "Restore"))));
    } catch {
        box.hidden = true;
    }
}

async function restore(version) {
    const isSure = await ask({
        title: "Restore this version?", text: "It replaces kiosk.conf at once. The present version joins the list.", yes: "Restore",
    });
    if (!isSure) return;
    try {
        await post("configuration/restore", { version: version.version });
        say("Restored. The player takes the changes over.");
    } catch (refusal) {
        say(refusal.message, { bad: true });
    }
    await load();
    listVersions();
    $("#history-title").focus();
}
