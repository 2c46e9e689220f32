// The live picture of the screen, once a second while it is looked at.

import { root } from "./api.js";
import { make } from "./dom.js";
import { state, on } from "./store.js";

const interval = 1000;

/** Shows the picture in a frame while `isOpen()`, the page is visible and the frame is in view. */
export function showScreen(frame, caption, isOpen) {
    let inView = true;
    let timer = null;
    let loading = null;
    let failures = 0;
    const placeholder = make("p", { class: "small" }, "Waiting for the picture");
    let shown = null;
    frame.append(placeholder);

    const isWanted = () => isOpen() && inView && document.visibilityState === "visible" && state.link === "open" && state.player;

    function next(delay) {
        clearTimeout(timer);
        timer = setTimeout(load, delay);
    }

    function load() {
        if (loading || !isWanted()) return;
        const begun = performance.now();
        const picture = make("img", { decoding: "async" });
        loading = picture;
        picture.addEventListener("load", () => {
            loading = null;
            failures = 0;
            const title = state.status?.item?.title;
            picture.alt = title ? `The screen now: ${title}` : "The screen now";
            if (picture.naturalWidth) frame.style.aspectRatio = `${picture.naturalWidth} / ${picture.naturalHeight}`;
            (shown ?? placeholder).replaceWith(picture);
            shown = picture;
            if (caption) caption.hidden = true;
            next(Math.max(interval - (performance.now() - begun), 250));
        }, { once: true });
        picture.addEventListener("error", () => {
            loading = null;
            failures += 1;
            if (failures > 2 && caption) {
                caption.textContent = "There is no new picture of the screen.";
                caption.hidden = false;
            }
            next(Math.min(interval * 2 ** failures, 30_000));
        }, { once: true });
        picture.src = `${root}screen?${Date.now()}`;
    }

    if ("IntersectionObserver" in window) {
        new IntersectionObserver(([entry]) => {
            inView = entry.isIntersecting;
            load();
        }).observe(frame);
    }
    for (const topic of ["link", "part"]) on(topic, () => { failures = 0; load(); });
    document.addEventListener("visibilitychange", load);
    load();
}
