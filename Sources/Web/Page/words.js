// Times, sizes and names in words.

/** Returns seconds as 1:05 or 1:01:05. */
export function clock(seconds) {
    if (!Number.isFinite(seconds)) return "";
    const whole = Math.max(0, Math.floor(seconds));
    const two = (number) => String(number).padStart(2, "0");
    const hours = Math.floor(whole / 3600);
    return `${hours ? `${hours}:${two(Math.floor(whole / 60) % 60)}` : Math.floor(whole / 60)}:${two(whole % 60)}`;
}

/** Returns seconds for a screen reader: 1 minute 5 seconds. */
export function spoken(seconds) {
    const whole = Math.max(0, Math.round(seconds));
    const parts = [[Math.floor(whole / 3600), "hour"], [Math.floor(whole / 60) % 60, "minute"], [whole % 60, "second"]];
    const said = parts.filter(([count]) => count > 0).map(([count, word]) => plural(count, word));
    return said.length ? said.join(" ") : "0 seconds";
}

/** Returns a long time roughly: 3 days, 5 hours. */
export function roughly(seconds) {
    for (const [length, word] of [[86400, "day"], [3600, "hour"], [60, "minute"]]) {
        if (seconds >= length) return plural(Math.floor(seconds / length), word);
    }
    return plural(Math.max(0, Math.floor(seconds)), "second");
}

export const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

/** Returns bytes as 3.4 MB. */
export function size(bytes) {
    const units = ["bytes", "KB", "MB", "GB", "TB"];
    let place = 0;
    let value = bytes;
    while (value >= 1000 && place < units.length - 1) {
        value /= 1000;
        place += 1;
    }
    return `${place === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[place]}`;
}

/** Returns the last part of a path or an address. */
export function basename(source) {
    const tail = String(source).replace(/[?#].*$/, "").replace(/\/+$/, "").split("/").pop();
    return tail || String(source);
}

/** Returns a moment as text: a number of seconds since 1970, or a text of a date. */
export function moment(value) {
    const date = new Date(typeof value === "number" ? value * 1000 : value);
    if (Number.isNaN(date.getTime())) return String(value ?? "");
    const sameDay = date.toDateString() === new Date().toDateString();
    return date.toLocaleString([], sameDay ? { timeStyle: "short" } : { dateStyle: "medium", timeStyle: "short" });
}

/** Returns the name of a language in the viewer's own. */
export function language(tag) {
    try {
        return new Intl.DisplayNames(navigator.languages, { type: "language" }).of(tag) ?? tag;
    } catch {
        return tag;
    }
}
