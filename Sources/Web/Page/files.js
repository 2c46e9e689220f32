// The files of the screen: upload, fetch, rename, delete.

import { get, part, post, request } from "./api.js";
import { $, align, ask, copy, dress, icon, iconButton, make, say, tell } from "./dom.js";
import { place } from "./playlist.js";
import { publish, refreshPlaylist, state } from "./store.js";
import { Uploads } from "./uploads.js";
import { moment, size } from "./words.js";

let isOpen = () => false;
const uploads = new Uploads(showUploads, async (upload) => {
    say(`${upload.answer.file?.name ?? upload.name} is here.`);
    await refresh();
});

export const probe = () => refresh();

/** Asks for the files, and shows them. */
export async function refresh() {
    state.folder = await get("files");
    publish("folder");
    if (isOpen()) update();
}

const refreshQuietly = () => refresh().catch((refusal) => say(refusal.message, { bad: true }));

/** Starts the part. */
export function start(asksWhetherOpen) {
    isOpen = asksWhetherOpen;
    const input = $("#chosen");
    $("#choose").addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
        uploads.add(input.files);
        input.value = "";
    });
    takeDrops($("#files"), $("#drop"));
    $("#fetch").addEventListener("submit", fetchFile);
    addEventListener("beforeunload", (event) => { if (uploads.all.some((upload) => upload.isRunning)) event.preventDefault(); });
    setInterval(() => {
        if (isOpen() && document.visibilityState === "visible" && state.link === "open") refresh().catch(() => {});
    }, 10_000);
}

export const enter = () => {
    update();
    refreshQuietly();
};

function takeDrops(area, box) {
    const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
    area.addEventListener("dragover", (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        box.classList.add("over");
    });
    area.addEventListener("dragleave", (event) => { if (!area.contains(event.relatedTarget)) box.classList.remove("over"); });
    area.addEventListener("drop", (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        box.classList.remove("over");
        uploads.add(event.dataTransfer.files);
    });
}

function update() {
    const { files, free, largest } = state.folder ?? { files: [] };
    const room = [Number.isFinite(free) ? `${size(free)} free` : null, Number.isFinite(largest) ? `up to ${size(largest)} a file` : null];
    tell($("#room"), ["Or drop files here", ...room].filter(Boolean).join(", ") + ".");
    align($("#list"), files, (file) => file.name, makeRow, (row, file) => {
        tell($(".source", row), `${size(file.bytes)}, ${moment(file.modified)}`);
        $(".badge", row).hidden = !file.playlist;
        dress($(".add", row), "add", `Add ${file.name} to the playlist`);
        dress($(".rename", row), "rename", `Rename ${file.name}`);
        dress($(".delete", row), "delete", `Delete ${file.name}`);
    });
}

function makeRow(file) {
    const picture = make("span", { class: "thumb" }, icon("film"));
    if (file.thumbnail) {
        const image = make("img", { src: file.thumbnail, alt: "", loading: "lazy", decoding: "async", width: 80, height: 45 });
        image.addEventListener("error", () => picture.replaceChildren(icon("film")));
        picture.replaceChildren(image);
    }
    return make("li", {}, picture,
        make("span", { class: "words" }, make("span", { class: "name" }, file.name), make("span", { class: "source" })),
        make("span", { class: "acts" },
            make("span", { class: "badge" }, "On the playlist"),
            iconButton("add", "", () => addToPlaylist(file.name), "add"),
            iconButton("rename", "", () => rename(file.name), "rename"),
            iconButton("delete", "", () => remove(file.name), "delete danger")));
}

async function addToPlaylist(name) {
    if (!await place(`${state.folder.root}/${name}`, "end")) return;
    say(`Added ${name} to the playlist.`);
    await refreshPlaylist();
    refreshQuietly();
}

async function rename(name) {
    const answer = await ask({ title: "Rename the file", yes: "Rename", label: "Name", value: name });
    if (!answer || answer === name) return;
    try {
        await post(`files/${part(name)}`, { name: answer });
        say(`Renamed to ${answer}.`);
    } catch (refusal) {
        say(refusal.message, { bad: true });
    }
    refreshQuietly();
}

async function remove(name) {
    const isOn = state.folder.files.find((file) => file.name === name)?.playlist;
    const isSure = await ask({
        title: `Delete ${name}?`, text: `${isOn ? "It is on the playlist. " : ""}You cannot undo this.`, yes: "Delete", danger: true,
    });
    if (!isSure) return;
    try {
        await request("DELETE", `files/${part(name)}`);
        say(`Deleted ${name}.`);
    } catch (refusal) {
        say(refusal.message, { bad: true });
    }
    await refreshQuietly();
    $("#files-title").focus();
}

async function fetchFile(event) {
    event.preventDefault();
    const field = $("#fetch-url");
    const button = $("#fetch button");
    button.disabled = true;
    say("Fetching. This takes as long as the file needs.");
    try {
        const answer = await post("fetch", { url: field.value.trim() });
        field.value = "";
        say(answer.file?.name ? `${answer.file.name} is here.` : "The screen fetches the file.");
    } catch (refusal) {
        showRefusal(refusal, $("#drop"));
    } finally {
        button.disabled = false;
        refreshQuietly();
    }
}

/** Shows a refusal with its recipe; without one as a message. */
function showRefusal(refusal, box) {
    $(".fetch-refusal", box)?.remove();
    if (refusal.recipe) box.append(make("div", { class: "fetch-refusal stack" }, ...refusalParts(refusal)));
    else say(refusal.message, { bad: true });
}

const refusalParts = (refusal) => [
    make("p", { class: "bad" }, refusal.message),
    ...(refusal.recipe ? [
        make("p", { class: "small" }, "Convert it with this command, then upload the result:"),
        make("div", { class: "recipe-line" }, make("pre", { class: "recipe", tabindex: 0 }, refusal.recipe),
            iconButton("copy", "Copy the command", () => copy(refusal.recipe))),
    ] : []),
];

const refusalBox = (upload) => make("div", { class: "refusal", role: "alert" }, ...refusalParts(upload.refusal),
    upload.refusal.code === "name-taken"
        ? make("div", {}, make("button", { type: "button", click: () => uploads.replace(upload) }, "Replace the file")) : null);

const words = {
    waiting: "waits", broken: "connection lost, tries again", paused: "paused", checking: "sends the end, and checks the file",
    done: "done", refused: "refused",
};

function showUploads() {
    align($("#uploads"), uploads.all, (upload) => upload.number ??= (showUploads.count = (showUploads.count ?? 0) + 1), (upload) => make(
        "li", {},
        make("span", { class: "words" }, make("span", { class: "name" }, upload.name), make("span", { class: "source small quiet" })),
        make("span", { class: "acts" },
            iconButton("pause", "", () => (upload.state === "paused" ? uploads.resume(upload) : upload.pause()), "hold"),
            iconButton("remove", "", () => uploads.drop(upload), "drop-it")),
        make("progress", { max: 1, value: 0, "aria-label": `Progress of ${upload.name}` })), (row, upload) => {
        const share = upload.file.size ? upload.offset / upload.file.size : 1;
        $("progress", row).value = share;
        $("progress", row).hidden = upload.isOver;
        const rate = upload.rate ? `, ${size(upload.rate)}/s` : "";
        tell($(".source", row), upload.state === "sending"
            ? `${Math.floor(100 * share)} % of ${size(upload.file.size)}${rate}` : words[upload.state]);
        const isHeld = upload.state === "paused";
        dress($(".hold", row), isHeld ? "play" : "pause", `${isHeld ? "Resume" : "Pause"} ${upload.name}`);
        $(".hold", row).hidden = upload.isOver;
        dress($(".drop-it", row), "remove", upload.isOver ? `Dismiss ${upload.name}` : `Cancel ${upload.name}`);
        if (!upload.refusal) $(".refusal", row)?.remove();
        else if (!$(".refusal", row)) row.append(refusalBox(upload));
    });
}
