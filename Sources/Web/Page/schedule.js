// The week: what plays when, and what the clock does. Columns of a day on a wide window, a list on a narrow one.

import { get } from "./api.js";
import { $, make, tell } from "./dom.js";
import { basename } from "./words.js";

const day = 1440;
let answer = null;

export async function probe() {
    answer = await get("schedule");
}

/** Starts the part. */
export const start = () => {};

export async function enter() {
    draw();
    try {
        answer = await get("schedule");
        draw();
    } catch { /* What is drawn stays; the page tells of a lost connection elsewhere. */ }
}

// Times are those of the schedule's own zone, without one: minutes since 1970 there.
const minutes = (text) => {
    const [date, clock] = text.split("T");
    const [hour, minute] = clock.split(":").map(Number);
    return Date.parse(`${date}T00:00:00Z`) / 60_000 + hour * 60 + minute;
};

const two = (number) => String(number).padStart(2, "0");
const clockOf = (minute) => `${two(Math.floor((minute % day) / 60))}:${two(minute % 60)}`;

function draw() {
    const box = $("#week");
    if (!answer?.changes?.length) return;
    tell($("#week-about"), about());
    const isPlain = answer.constant && answer.commands.length === 0;
    box.hidden = isPlain;
    if (isPlain) return;
    const now = minutes(answer.from);
    const first = now - now % day;
    const spans = answer.changes.map((change, index) => ({
        from: minutes(change.at), until: minutes(answer.changes[index + 1]?.at ?? answer.until), ...describe(change),
    }));
    const hours = make("div", { class: "hours", "aria-hidden": "true" }, ...[0, 3, 6, 9, 12, 15, 18, 21].map((hour) => {
        const label = make("span", {}, `${two(hour)}:00`);
        label.style.top = `${100 * hour / 24}%`;
        return label;
    }));
    box.replaceChildren(make("div", { class: "hour-column", "aria-hidden": "true" }, hours),
        ...Array.from({ length: 7 }, (_, index) => column(first + index * day, spans, index === 0 ? now : null)));
}

function about() {
    const parts = [];
    if (!answer.clockIsSet) parts.push("The clock of this machine is not set. Entries with times wait until it is.");
    if (answer.constant && answer.commands.length === 0) {
        parts.push("The playlist plays all the time. No program or command has hours or days.");
    } else parts.push("What plays in the next seven days.");
    return parts.join(" ");
}

function describe(change) {
    if (change.dark) return { name: "Display is off", kind: "off", detail: "" };
    const main = change.entries.filter((entry) => !entry.inBetween);
    if (main.length === 0) return { name: change.fallback ? "The fallback" : "Nothing", kind: "off", detail: "" };
    const names = [...new Set(main.map((entry) => entry.program ?? "Playlist"))];
    const between = [...new Set(change.entries.filter((entry) => entry.inBetween).map((entry) => entry.program ?? "others"))];
    const name = names.join(" and ") + (between.length ? `, in between ${between.join(" and ")}` : "");
    const titles = main.map((entry) => (/^\/|:\/\//.test(entry.title) ? basename(entry.title) : entry.title));
    return {
        name, kind: main.some((entry) => entry.program) ? "program" : "playlist",
        detail: titles.slice(0, 4).join(", ") + (titles.length > 4 ? ` and ${titles.length - 4} more` : ""),
    };
}

/** The same program has the same colour all week. */
const hue = (name) => [...name].reduce((sum, character) => (sum * 31 + character.codePointAt(0)) % 1009, 7) % 4;

function column(begin, spans, now) {
    const date = new Date(begin * 60_000);
    const format = (options) => date.toLocaleDateString([], { timeZone: "UTC", ...options });
    const items = [];
    for (const span of spans) {
        const from = Math.max(span.from, begin);
        const until = Math.min(span.until, begin + day);
        if (until <= from) continue;
        const end = until === begin + day ? "24:00" : clockOf(until);
        const item = make("li", {
            class: "block", "data-kind": span.kind, "data-hue": span.kind === "program" ? hue(span.name) : null, title: span.detail || null,
        },
        make("span", { class: "when" }, `${clockOf(from)}–${end}`), " ", make("b", {}, span.name),
        span.detail ? make("span", { class: "detail" }, span.detail) : null);
        place(item, from - begin, until - from);
        items.push([from, item]);
    }
    for (const command of answer.commands) {
        const at = minutes(command.at);
        if (at < begin || at >= begin + day) continue;
        const item = make("li", { class: "command" }, make("span", { class: "when" }, clockOf(at)), " ", command.command);
        place(item, at - begin, 0);
        items.push([at, item]);
    }
    items.sort(([one], [other]) => one - other);
    const list = make("ol", { class: "day" }, ...items.map(([, item]) => item));
    const heading = make("h2", { class: "head", "aria-current": now === null ? null : "date" },
        now === null ? format({ weekday: "short", day: "numeric", month: "short" })
            : `Today, ${format({ day: "numeric", month: "short" })}`);
    const section = make("section", { class: "of-day" }, heading, list);
    if (now !== null) {
        const mark = make("div", { class: "instant", "aria-hidden": "true" });
        place(mark, now - begin, 0);
        section.append(mark);
    }
    return section;
}

function place(element, from, length) {
    element.style.setProperty("--from", `${from / day}`);
    element.style.setProperty("--length", `${length / day}`);
}
