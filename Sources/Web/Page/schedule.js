// The week: what plays when.

import { get } from "./api.js";

export const probe = async () => { await get("schedule"); };
export const start = () => {};
export const enter = () => {};
