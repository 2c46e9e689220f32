// Requests to /api/v1. An answer is its object of JSON; a refusal is thrown.

/** A refusal of the server, or a failed connection: status 0. */
export class Refusal extends Error {
    constructor(status, body, retryAfter) {
        const error = body?.error ?? {};
        super(error.message ?? (status === 0 ? "The screen does not answer." : `The server answers with status ${status}.`));
        this.status = status;
        this.code = error.code ?? "";
        this.recipe = error.recipe ?? null;
        this.body = body;
        this.retryAfter = retryAfter;
    }

    /** True if the server has no such part. */
    get isAbsent() { return this.status === 404 || this.status === 403 || this.status === 501; }
}

export const root = "/api/v1/";
let token = "";
let whenSignedOut = () => {};

/** Sets the token against forged requests, for all unsafe methods. */
export const setToken = (value) => { token = value ?? ""; };

/** Sets the function to call if the session has ended. */
export const onSignedOut = (action) => { whenSignedOut = action; };

/** Sends a request. `body` is an object, or with `raw` bytes. After a restart of the server its new token is read once. */
export async function request(method, path, options = {}) {
    try {
        return await send(method, path, options);
    } catch (refusal) {
        if (refusal.code !== "no-csrf-token") throw refusal;
        token = (await send("GET", "session")).csrf ?? "";
        return send(method, path, options);
    }
}

async function send(method, path, { body, raw, headers = {}, signal } = {}) {
    const options = { method, headers: { Accept: "application/json", ...headers }, signal, credentials: "same-origin", cache: "no-store" };
    if (method !== "GET") options.headers["X-CSRF-Token"] = token;
    if (raw !== undefined) {
        options.body = raw;
        options.headers["Content-Type"] = "application/octet-stream";
    } else if (method === "POST" || method === "PUT") {
        options.body = JSON.stringify(body ?? {});
        options.headers["Content-Type"] = "application/json";
    }
    let response;
    try {
        response = await fetch(root + path, options);
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Refusal(0, null);
    }
    const text = await response.text();
    let answer = null;
    try {
        answer = text ? JSON.parse(text) : {};
    } catch { /* Not JSON, such as a page of a proxy. */ }
    if (response.ok && answer !== null) return answer;
    if (response.status === 401 && path !== "session") whenSignedOut();
    throw new Refusal(response.status, answer, Number(response.headers.get("Retry-After")) || null);
}

export const get = (path, options) => request("GET", path, options);
export const post = (path, body, options) => request("POST", path, { body, ...options });

/** Sends a command of the table: its name with spaces, and its parameters. */
export const command = (name, parameters = {}) => post(name.replaceAll(" ", "/"), parameters);

/** Returns a name as one part of a path. */
export const part = (name) => encodeURIComponent(name);
