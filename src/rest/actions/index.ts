import type { Action } from "../action.ts";

/** All endpoints that are not generic operations on rows. */
export const ACTIONS: readonly Action[] = [];
