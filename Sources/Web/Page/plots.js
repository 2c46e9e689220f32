// Small plots of counts: how many in each span of time, over the last minutes.

import { $, draw, make, tell } from "./dom.js";
import { plural } from "./words.js";

const span = 5;
const columns = 60;

/** A plot of a count that only grows; bad if it should stay at zero. */
export class Plot {
    constructor(box, title, { bad = false } = {}) {
        Object.assign(this, { title, bad, samples: [], last: null });
        this.svg = draw("svg", { viewBox: `0 0 ${columns * 4} 48`, preserveAspectRatio: "none", role: "img" });
        this.figure = make("figure", { class: "card" },
            make("figcaption", {}, make("span", {}, title), make("b", {}, "0")), this.svg);
        box.append(this.figure);
    }

    /** Adds the count of now. A count below the last one is that of another player. */
    add(count) {
        this.samples.push(this.last === null ? 0 : Math.max(0, count < this.last ? count : count - this.last));
        if (this.samples.length > columns) this.samples.shift();
        this.last = count;
    }

    /** Draws the samples. */
    show() {
        const most = Math.max(4, ...this.samples);
        const sum = this.samples.reduce((total, sample) => total + sample, 0);
        const first = columns - this.samples.length;
        this.svg.replaceChildren(...this.samples.flatMap((sample, index) => sample === 0 ? [] : [draw("rect", {
            x: 4 * (first + index), width: 3, y: 48 - 46 * sample / most, height: 46 * sample / most,
        })]));
        const minutes = Math.max(1, Math.round(this.samples.length * span / 60));
        const recent = `${sum} in the last ${plural(minutes, "minute")}`;
        this.svg.setAttribute("aria-label", `${this.title}: ${recent}, ${this.last ?? 0} since the start`);
        this.figure.dataset.state = this.bad && sum > 0 ? "bad" : "";
        tell($("b", this.figure), (this.last ?? 0).toLocaleString("en"));
    }
}

/** Seconds between two samples. */
export const interval = span;
