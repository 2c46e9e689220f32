// A list whose items move: by a pointer at their handle, or by the arrow keys on it.

import { $ } from "./dom.js";

/**
 * Lets the children of a list be moved by their element of class `grip`.
 *
 * While a pointer drags, the others make room; `move(element, place)` is called at the end, with places from 0. Escape puts the item back.
 */
export function makeSortable(list, move) {
    let drag = null;

    list.addEventListener("pointerdown", (event) => {
        const grip = event.target.closest(".grip");
        if (!grip || event.button !== 0 || drag) return;
        const row = grip.closest("li");
        const rows = [...list.children];
        const boxes = rows.map((element) => element.getBoundingClientRect());
        const place = rows.indexOf(row);
        drag = { grip, row, rows, boxes, place, to: place, begun: event.clientY + scrollY, pointer: event.clientY, scroller: 0 };
        grip.setPointerCapture(event.pointerId);
        row.classList.add("dragged");
        list.classList.add("sorting");
        scrollAtEdges();
    });
    list.addEventListener("pointermove", (event) => {
        if (!drag) return;
        drag.pointer = event.clientY;
        follow();
    });
    list.addEventListener("pointerup", () => finish(true));
    list.addEventListener("pointercancel", () => finish(false));
    document.addEventListener("keydown", (event) => { if (event.key === "Escape" && drag) finish(false); });

    list.addEventListener("keydown", (event) => {
        const grip = event.target.closest(".grip");
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        const row = grip?.closest("li");
        const place = row ? [...list.children].indexOf(row) : -1;
        const to = step ? place + step : event.key === "Home" ? 0 : event.key === "End" ? list.childElementCount - 1 : -1;
        if (!row || drag) return;
        if (step || event.key === "Home" || event.key === "End") event.preventDefault();
        if (to >= 0 && to < list.childElementCount && to !== place) put(row, to);
    });

    /** Moves an element now, and keeps the focus on its handle. */
    function put(row, to) {
        const others = [...list.children].filter((element) => element !== row);
        list.insertBefore(row, others[to] ?? null);
        $(".grip", row).focus();
        move(row, to);
    }

    function follow() {
        const shift = drag.pointer + scrollY - drag.begun;
        const own = drag.boxes[drag.place];
        const middle = own.top + own.height / 2 + shift;
        drag.row.style.transform = `translateY(${shift}px)`;
        drag.to = drag.boxes.filter((box, index) => index !== drag.place && box.top + box.height / 2 < middle).length;
        drag.rows.forEach((element, index) => {
            if (index === drag.place) return;
            const down = index < drag.place && index >= drag.to;
            const up = index > drag.place && index <= drag.to;
            element.style.transform = down ? `translateY(${own.height}px)` : up ? `translateY(${-own.height}px)` : "";
        });
    }

    // A long list scrolls while the pointer is near an edge of the window.
    function scrollAtEdges() {
        if (!drag) return;
        const margin = 70;
        const speed = Math.min(0, drag.pointer - margin) + Math.max(0, drag.pointer - innerHeight + margin);
        if (speed) {
            scrollBy(0, speed / 5);
            follow();
        }
        drag.scroller = requestAnimationFrame(scrollAtEdges);
    }

    function finish(isMeant) {
        if (!drag) return;
        const { row, rows, place, to, scroller } = drag;
        drag = null;
        cancelAnimationFrame(scroller);
        list.classList.remove("sorting");
        row.classList.remove("dragged");
        for (const element of rows) element.style.transform = "";
        if (isMeant && to !== place) put(row, to);
    }

    return { get isBusy() { return drag !== null; } };
}
