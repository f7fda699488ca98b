/** Documented paths that nothing serves yet, in the order of the reference, each with its reason. It only gets shorter. */
export const UNIMPLEMENTED_PATHS: Readonly<Record<string, "not built yet">> = {};

/** Families that nothing serves under the prefix of the appliance yet. */
export const UNIMPLEMENTED_ON_PREMISES: Readonly<Record<string, "not built yet">> = {};

/** Options of served fields whose families nothing serves yet, as the checklist tells them. */
export const UNIMPLEMENTED_OPTIONS: Readonly<Record<string, "not built yet">> = {};
