// The recorder: begin, watch, keep or throw away.

import { get } from "./api.js";
import { $, make, tell } from "./dom.js";
import { act } from "./now.js";
import { showScreen } from "./screen.js";
import { on } from "./store.js";
import { basename, clock, plural } from "./words.js";

const states = {
    idle: "Ready", opening: "The camera opens", framing: "Camera preview", recording: "Recording", paused: "Paused",
    finishing: "Finishing the film", reviewing: "Keep this film?",
};
// Each state's buttons: a label and a command; the first is the main one.
const buttons = {
    idle: [["Start recording", "start"], ["Show the camera", "preview"]],
    opening: [["Cancel", "cancel"]],
    framing: [["Start recording", "start"], ["Close the preview", "cancel"]],
    recording: [["Stop", "stop"], ["Pause", "pause"], ["Throw away", "cancel"], ["Record again", "retake"]],
    paused: [["Resume", "resume"], ["Stop", "stop"], ["Throw away", "cancel"], ["Record again", "retake"]],
    finishing: [],
    reviewing: [["Keep", "keep"], ["Record again", "retake"], ["Throw away", "cancel"]],
};
let isOpen = () => false;
let timer = null;
let last = null;

// A player away at the start says nothing about the recorder.
export const probe = () => get("record/status").catch((refusal) => {
    if (refusal.status === 404 || refusal.code === "not-configured") throw refusal;
});

/** Starts the part. */
export function start(asksWhetherOpen) {
    isOpen = asksWhetherOpen;
    showScreen($("#recording-frame"), null, isOpen);
    on("record", update);
    on("link", refresh);
}

export const enter = refresh;
export const leave = () => clearTimeout(timer);

// Time and loudness have no events, so a running recording is asked twice a second.
async function refresh() {
    clearTimeout(timer);
    if (!isOpen()) return;
    try {
        update(await get("record/status"));
    } catch { /* The page tells of an absent player elsewhere. */ }
    timer = setTimeout(refresh, last?.state === "recording" || last?.state === "opening" ? 500 : 3000);
}

function update(answer) {
    if (!answer?.state) return;
    const isOther = last?.state !== answer.state;
    last = answer;
    if (!isOpen()) return;
    tell($("#recording-state"), states[answer.state] ?? answer.state);
    const facts = [clock(answer.elapsed)];
    if (answer.remaining !== null && answer.remaining !== undefined) facts.push(`${clock(answer.remaining)} left`);
    if (answer.dropped > 0) facts.push(`${plural(answer.dropped, "picture")} missing`);
    tell($("#recording-facts"), answer.state === "idle" ? "" : facts.join(", "));
    $("#level").value = answer.level ?? 0;
    $("#level").parentElement.hidden = answer.state !== "recording" && answer.state !== "framing";
    tell($("#recording-film"), answer.failure ? `The last error: ${answer.failure}`
        : answer.film ? `Kept last: ${basename(answer.film)}` : "");
    $("#recording-film").classList.toggle("bad", Boolean(answer.failure));
    if (!isOther && $("#recording .transport").childElementCount > 0) return;
    const box = $("#recording .transport");
    const had = box.contains(document.activeElement);
    box.replaceChildren(...(buttons[answer.state] ?? []).map(([label, name], index) => make("button", {
        type: "button", class: index === 0 && name !== "cancel" ? "main" : name === "cancel" ? "danger" : "",
        click: async () => {
            const next = await act(`record ${name}`);
            if (next) update(next);
            refresh();
        },
    }, label)));
    if (had) (box.firstElementChild ?? $("#recording-title")).focus();
}
