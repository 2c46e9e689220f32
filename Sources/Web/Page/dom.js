// Elements, icons, messages and questions.

export const $ = (selector, root = document) => root.querySelector(selector);

/** Makes an element. Attributes with a function are listeners, null and false are left out, and true is an empty value. */
export function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (typeof value === "function") element.addEventListener(name, value);
        else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
    return element;
}

const svgSpace = "http://www.w3.org/2000/svg";

/** Makes an element of SVG. */
export function draw(tag, attributes = {}, ...children) {
    const element = document.createElementNS(svgSpace, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
}

/** Makes an icon of icons.svg; screen readers skip it. */
export const icon = (name) => draw("svg", { class: "icon", "aria-hidden": "true" }, draw("use", { href: `icons.svg#${name}` }));

/** Shows an icon in a button, and its name to screen readers and as a tooltip. */
export function dress(button, name, label) {
    if (button.dataset.icon !== name) button.replaceChildren(icon(name));
    button.dataset.icon = name;
    if (button.title !== label) {
        button.title = label;
        button.setAttribute("aria-label", label);
    }
}

export const iconButton = (name, label, click, extra = "") => {
    const button = make("button", { type: "button", class: `bare ${extra}`.trim(), click });
    dress(button, name, label);
    return button;
};

/** Sets a text only if it differs, so that screen readers and selections stay undisturbed. */
export function tell(element, text) {
    if (element.textContent !== text) element.textContent = text;
}

/** Brings the children of a list in line with values: keeps, updates, makes, moves and removes elements by their key. */
export function align(list, values, key, create, update) {
    const former = new Map([...list.children].map((element) => [element.dataset.key, element]));
    let place = list.firstElementChild;
    for (const [index, value] of values.entries()) {
        const name = String(key(value));
        let element = former.get(name);
        former.delete(name);
        if (!element) {
            element = create(value);
            element.dataset.key = name;
        }
        update?.(element, value, index);
        if (element === place) place = place.nextElementSibling;
        else list.insertBefore(element, place);
    }
    for (const element of former.values()) element.remove();
}

/** Makes radio buttons in a fieldset with the class `choices`, and calls `choose` with the value of the chosen one. */
export function fillChoices(fieldset, choices, choose) {
    const box = $("div", fieldset);
    box.replaceChildren(...choices.map(([value, label]) => make(
        "label", {}, make("input", { type: "radio", name: fieldset.id, value, change: () => choose(value) }), make("span", {}, label))));
}

/** Checks the radio button of a value; none if it is unknown. */
export function choose(fieldset, value) {
    const isKnown = value !== null && value !== undefined;
    for (const input of fieldset.querySelectorAll("input")) input.checked = isKnown && input.value === String(value);
}

/** Shows a message for some seconds; with an action, which is a label and a function, for longer. */
export function say(text, { bad = false, action = null } = {}) {
    const toast = make("div", { class: "toast" }, make("span", { class: bad ? "bad" : "" }, text));
    const close = () => toast.remove();
    if (action) {
        toast.append(make("button", { type: "button", click: () => { close(); action[1](); } }, action[0]));
    }
    const box = $("#toasts");
    while (box.childElementCount > 2) box.firstElementChild.remove();
    box.append(toast);
    let timer = setTimeout(close, action || bad ? 9000 : 4000);
    const hold = () => clearTimeout(timer);
    const release = () => { timer = setTimeout(close, 4000); };
    for (const event of ["mouseenter", "focusin"]) toast.addEventListener(event, hold);
    for (const event of ["mouseleave", "focusout"]) toast.addEventListener(event, release);
}

/** Asks for a decision, or with a `label` for a text. Returns true, the text, or null after Cancel. */
export function ask({ title, text = "", yes, danger = false, label = null, value = "" }) {
    const dialog = $("#ask");
    const input = $("#ask-input");
    $("#ask-title").textContent = title;
    $("#ask-text").textContent = text;
    $("#ask-text").hidden = !text;
    $("#ask-field").hidden = label === null;
    $("#ask-field label").textContent = label ?? "";
    input.value = value;
    input.required = label !== null;
    $("#ask-yes").textContent = yes;
    $("#ask-yes").className = danger ? "main danger-fill" : "main";
    dialog.returnValue = "";
    dialog.showModal();
    if (label !== null) {
        input.focus();
        const dot = value.lastIndexOf(".");
        input.setSelectionRange(0, dot > 0 ? dot : value.length);
    }
    return new Promise((resolve) => {
        dialog.addEventListener("close", () => {
            resolve(dialog.returnValue === "yes" ? (label === null ? true : input.value) : null);
        }, { once: true });
    });
}

/** Copies a text, and says so. */
export async function copy(text) {
    try {
        if (navigator.clipboard) await navigator.clipboard.writeText(text);
        else copyWithoutPermission(text);
        say("Copied");
    } catch {
        say("The browser does not let this page copy. Select the text instead.", { bad: true });
    }
}

// The clipboard's interface needs HTTPS; a screen in a local network has none.
function copyWithoutPermission(text) {
    const area = make("textarea", { class: "unseen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
}

/** Makes a function that runs once, `delay` milliseconds after the last call. */
export function calm(delay, action) {
    let timer;
    return (...values) => {
        clearTimeout(timer);
        timer = setTimeout(() => action(...values), delay);
    };
}
