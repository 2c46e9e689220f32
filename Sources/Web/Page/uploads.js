// Uploads in pieces: several at once, paused and resumed, also after a break of the connection or a reload of the page.

import { get, part, post, request, Refusal } from "./api.js";

const together = 2;
const smallest = 256 * 1024;
const largest = 8 * 1024 * 1024;
const busy = [429, 502, 503, 504];
const store = "kiosk-uploads";

/** What the page remembers of unfinished uploads, so that the same file goes on where it stopped. */
function remembered() {
    try {
        return JSON.parse(localStorage.getItem(store)) ?? {};
    } catch {
        return {};
    }
}

function remember(key, id) {
    const all = remembered();
    if (id) all[key] = id;
    else delete all[key];
    try {
        localStorage.setItem(store, JSON.stringify(all));
    } catch { /* A private window may refuse; then a reload begins again. */ }
}

/** One file on its way. `state` is "waiting", "sending", "broken", "paused", "checking", "done" or "refused". */
export class Upload {
    constructor(file, changed) {
        Object.assign(this, { file, changed, name: file.name, state: "waiting", offset: 0, id: null });
        Object.assign(this, { refusal: null, answer: null, rate: 0, replaces: false });
        this.key = `${file.name}/${file.size}/${file.lastModified}`;
    }

    get isOver() { return this.state === "done" || this.state === "refused"; }
    get isRunning() { return this.state === "sending" || this.state === "broken" || this.state === "checking"; }

    set(state) {
        this.state = state;
        this.changed(this);
    }

    pause() {
        this.stop?.abort();
        this.set("paused");
    }

    /** Ends the upload, and discards its bytes on the server. */
    async cancel() {
        this.stop?.abort();
        remember(this.key, null);
        if (this.id && !this.isOver) await request("DELETE", `uploads/${part(this.id)}`).catch(() => {});
        this.state = "refused";
    }

    /** Sends until the end, a refusal or a pause; tries again after breaks. */
    async run() {
        this.stop = new AbortController();
        const { signal } = this.stop;
        let wait = 1000;
        this.set("sending");
        while (!signal.aborted) {
            try {
                if (!this.id) await this.open();
                else if (this.state === "broken") await this.find(signal);
                this.set("sending");
                await this.send(signal, () => { wait = 1000; });
                return;
            } catch (error) {
                if (signal.aborted) return;
                // 409 is a wrong place in a known upload, but a taken name of a new one.
                const isBreak = error instanceof Refusal && (this.id ? [0, 409, ...busy] : [0, ...busy]).includes(error.status);
                if (!isBreak) {
                    remember(this.key, null);
                    this.refusal = error;
                    this.set("refused");
                    return;
                }
                this.set("broken");
                await new Promise((go) => {
                    const timer = setTimeout(go, error.retryAfter ? error.retryAfter * 1000 : error.status === 409 ? 0 : wait);
                    signal.addEventListener("abort", () => { clearTimeout(timer); go(); }, { once: true });
                });
                wait = Math.min(wait * 2, 30_000);
            }
        }
    }

    /** Finds the same file's unfinished upload, or begins one. */
    async open() {
        const former = remembered()[this.key];
        if (former) {
            try {
                this.offset = (await get(`uploads/${part(former)}`)).offset;
                this.id = former;
                return;
            } catch (error) {
                if (error.status !== 404) throw error;
            }
        }
        const answer = await post("uploads", { name: this.name, bytes: this.file.size, ...(this.replaces && { replace: true }) });
        this.id = answer.id;
        this.offset = answer.offset ?? 0;
        remember(this.key, this.id);
    }

    async find(signal) {
        try {
            this.offset = (await get(`uploads/${part(this.id)}`, { signal })).offset;
        } catch (error) {
            if (error.status !== 404) throw error;
            // The server has forgotten it, so it begins again.
            remember(this.key, null);
            this.id = null;
            this.offset = 0;
            await this.open();
        }
    }

    async send(signal, moved) {
        let length = smallest;
        do {
            const end = Math.min(this.offset + length, this.file.size);
            const begun = performance.now();
            // The server checks the file before it answers to the last piece.
            if (end === this.file.size) this.set("checking");
            const answer = await request("PATCH", `uploads/${part(this.id)}`, {
                raw: this.file.slice(this.offset, end), headers: { "Upload-Offset": String(this.offset) }, signal,
            });
            const seconds = Math.max((performance.now() - begun) / 1000, 0.001);
            this.rate = (end - this.offset) / seconds;
            length = Math.max(smallest, Math.min(largest, Math.round(this.rate)));
            moved();
            this.offset = answer.done ? this.file.size : answer.offset;
            if (answer.done) {
                remember(this.key, null);
                this.answer = answer;
                this.set("done");
                return;
            }
            this.changed(this);
        } while (!signal.aborted);
    }
}

/** All uploads of this page, in order. */
export class Uploads {
    constructor(changed, finished) {
        Object.assign(this, { all: [], changed, finished });
    }

    add(files) {
        for (const file of files) this.all.push(new Upload(file, () => this.changed()));
        this.changed();
        this.fill();
    }

    /** Starts waiting uploads, while fewer than two run. */
    fill() {
        for (const upload of this.all) {
            if (this.all.filter((other) => other.isRunning).length >= together) return;
            if (upload.state !== "waiting") continue;
            upload.run().then(() => {
                if (upload.state === "done") this.finished(upload);
                this.fill();
            });
        }
    }

    resume(upload) {
        upload.set("waiting");
        this.fill();
    }

    /** Sends a refused file again, over the one of the same name. */
    replace(upload) {
        Object.assign(upload, { refusal: null, id: null, offset: 0, replaces: true });
        this.resume(upload);
    }

    async drop(upload) {
        await upload.cancel();
        this.all = this.all.filter((other) => other !== upload);
        this.changed();
        this.fill();
    }
}
