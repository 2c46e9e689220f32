// Health: facts, counts, checks of the machine, and the log as it happens.

import { get, root } from "./api.js";
import { $, align, icon, make, tell } from "./dom.js";
import { interval, Plot } from "./plots.js";
import { on, state } from "./store.js";
import { plural, roughly, size } from "./words.js";

let isOpen = () => false;
let plots = [];
let log = null;
let pause = 1000;
let timer = null;
const figures = { statistics: null, metrics: null, cache: null };

/** Starts the part. */
export function start(asksWhetherOpen) {
    isOpen = asksWhetherOpen;
    const box = $("#plots");
    plots = [["framesLate", "Late frames", true], ["framesDropped", "Dropped frames", true], ["seams", "Seams", false]]
        .map(([member, title, bad]) => [member, new Plot(box, title, { bad })]);
    let sampled = 0;
    on("status", () => {
        const status = state.status;
        if (performance.now() - sampled >= interval * 990) {
            sampled = performance.now();
            for (const [member, plot] of plots) plot.add(status[member] ?? 0);
            if (isOpen()) {
                refreshFigures();
                plots.forEach(([, plot]) => plot.show());
            }
        }
        if (isOpen()) updateFacts();
    });
    on("link", updateFacts);
    $("#doctor-again").addEventListener("click", examine);
    $("#log-follow").addEventListener("change", follow);
    $("#log-level").addEventListener("change", () => {
        for (const line of $("#lines").children) line.hidden = !isShown(line.dataset.level);
        follow();
    });
    document.addEventListener("visibilitychange", listen);
}

export function enter() {
    plots.forEach(([, plot]) => plot.show());
    updateFacts();
    refreshFigures();
    examine();
    listen();
}

export function leave() {
    listen();
}

async function refreshFigures() {
    const [statistics, metrics, cache] = await Promise.allSettled([get("statistics"), readMetrics(), get("cache")]);
    figures.statistics = statistics.value ?? null;
    figures.metrics = metrics.value ?? null;
    figures.cache = cache.value ?? null;
    updateFacts();
}

/** Reads the numbers of Prometheus' text format that have no labels. */
async function readMetrics() {
    const response = await fetch("/metrics", { cache: "no-store" });
    if (!response.ok) return null;
    const lines = (await response.text()).split("\n").filter((line) => /^[a-z_]+ [-+0-9.e]+$/i.test(line));
    return Object.fromEntries(lines.map((line) => line.split(" ")).map(([name, value]) => [name, Number(value)]));
}

function updateFacts() {
    if (!isOpen()) return;
    const { status } = state;
    const facts = [];
    const add = (key, picture, label, text, look = "") => facts.push({ key, picture, label, text, look });
    if (!status || !state.player) {
        add("player", "error", "Player", "does not answer", "bad");
    } else {
        const display = status.display;
        if (display) {
            const name = display.name.replace(/ \d+x\d+@[\d.]+$/, "");
            add("display", "display", "Display", `${name}, ${display.width} × ${display.height}, ${display.refresh} Hz`);
        } else add("display", "display", "Display", "none", "bad");
        const audio = String(status.audio ?? "none");
        add("audio", audio.startsWith("silent") ? "silent" : "sound", "Sound", audio);
        if (status.live) {
            const behind = status.latency === null ? "" : `, ${status.latency.toFixed(1)} s behind`;
            if (status.likelyToKeepUp) add("stream", "stream", "Stream", `keeps up${behind}`);
            else add("stream", "stream", "Stream", `does not keep up${behind}`, "warn");
        }
        const statistics = figures.statistics;
        if (statistics) {
            const { stalls, stalledTime, synchrony } = statistics;
            add("stalls", "warning", "Stalls", stalls ? `${plural(stalls, "time")}, ${stalledTime.toFixed(1)} s in all` : "none");
            if (synchrony) add("synchrony", "health", "Picture and sound", `within ${Math.round(1000 * synchrony.most)} ms`);
        }
        if (figures.cache) add("cache", "disk", "Cache", `${size(figures.cache.bytes)} of ${size(figures.cache.limit)}`);
        add("uptime", "ok", "Player", `kiosk ${status.version}, for ${roughly(status.uptime)}`);
    }
    const { kiosk_temperature_celsius: heat, kiosk_free_space_bytes: free, kiosk_throttled: throttled } = figures.metrics ?? {};
    const room = state.folder?.free ?? free;
    if (Number.isFinite(room)) add("disk", "disk", "Disk", `${size(room)} free`, room < 500e6 ? "bad" : "");
    if (Number.isFinite(heat)) {
        const look = throttled ? "bad" : heat > 80 ? "warn" : "";
        add("heat", "heat", "Temperature", `${heat.toFixed(0)} °C${throttled ? ", throttled" : ""}`, look);
    }
    if (status?.failure && state.player) {
        const { age, message } = status.failure;
        add("failure", "error", `Last error, ${roughly(age)} ago`, message, age < 3600 ? "bad" : "");
    }
    const makeFact = (fact) => make("div", { class: fact.key === "failure" ? "wide" : "" }, icon(fact.picture), make("dt"), make("dd"));
    align($("#facts"), facts, (fact) => fact.key, makeFact, (box, fact) => {
        box.dataset.state = fact.look;
        $("use", box).setAttribute("href", `icons.svg#${fact.picture}`);
        tell($("dt", box), fact.label);
        tell($("dd", box), fact.text);
    });
}

const order = ["error", "warning", "unknown", "ok"];
const severities = { error: "Error", warning: "Warning", unknown: "Not checked", ok: "Good" };
const looks = { error: "bad", warning: "warn", unknown: "quiet", ok: "good" };

/** Asks for the checks of the machine. */
async function examine() {
    const button = $("#doctor-again");
    button.disabled = true;
    try {
        const findings = (await get("doctor")).findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity));
        const isFine = (finding) => finding.severity === "ok" || finding.severity === "unknown";
        const problems = findings.filter((finding) => !isFine(finding));
        const rest = findings.filter(isFine);
        $("#findings").replaceChildren(...(problems.length ? problems.map(showFinding) : [make("li", {}, "No problem found.")]));
        tell($("#fine summary"), `${plural(rest.length, "other check")}`);
        $("#fine ul").replaceChildren(...rest.map(showFinding));
        $("#fine").hidden = rest.length === 0;
        $("#doctor").hidden = false;
    } catch (refusal) {
        if (refusal.isAbsent) $("#doctor").hidden = true;
        else $("#findings").replaceChildren(make("li", { class: "bad" }, refusal.message));
    } finally {
        button.disabled = false;
    }
}

function showFinding(finding) {
    const sign = icon(finding.severity);
    sign.classList.add(looks[finding.severity] ?? "quiet");
    return make("li", { class: "finding" }, sign,
        make("p", {}, make("span", { class: "unseen" }, `${severities[finding.severity] ?? finding.severity}: `), finding.text),
        finding.advice.length
            ? make("ul", { class: "advice", "aria-label": "What to do" }, ...finding.advice.map((line) => make("li", {}, line))) : null);
}

// The log comes while the part is open and the page is visible.
function listen() {
    clearTimeout(timer);
    const isWanted = isOpen() && document.visibilityState === "visible" && !$("#log").hidden;
    if (!isWanted) {
        log?.close();
        log = null;
        return;
    }
    if (log) return;
    log = new EventSource(`${root}log`);
    const take = (event) => addLine(event.data);
    log.addEventListener("message", take);
    log.addEventListener("log", take);
    log.addEventListener("open", () => {
        pause = 1000;
        $("#lines").replaceChildren();
    });
    log.addEventListener("error", async () => {
        log?.close();
        log = null;
        // A stream tells no status: a request of its own does, and ends before the stream begins.
        const stop = new AbortController();
        const answer = await fetch(`${root}log`, { signal: stop.signal }).catch(() => null);
        stop.abort();
        if (answer?.status === 404 || answer?.status === 403) {
            $("#log").hidden = true;
            return;
        }
        timer = setTimeout(listen, pause);
        pause = Math.min(2 * pause, 30_000);
    });
}

const levels = ["trace", "debug", "info", "notice", "warning", "error", "critical"];
const isShown = (level) => $("#log-level").value === "info" || levels.indexOf(level) >= levels.indexOf($("#log-level").value);

function addLine(text) {
    let line;
    try {
        line = JSON.parse(text);
    } catch {
        line = { message: text };
    }
    const box = $("#lines");
    const level = levels.includes(line.level) ? line.level : "info";
    const time = line.time ? make("time", {}, `${String(line.time).replace(/^.*T|\..*$/g, "")} `) : "";
    const words = `${line.level ?? ""} ${line.message ?? ""}`.trim();
    box.append(make("p", { class: level, "data-level": level, hidden: !isShown(level) }, time, words));
    while (box.childElementCount > 500) box.firstElementChild.remove();
    follow();
}

function follow() {
    const box = $("#lines");
    if ($("#log-follow").checked) box.scrollTop = box.scrollHeight;
}
