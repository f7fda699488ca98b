/** Documented paths that nothing serves yet, in the order of the reference, each with its reason. It only gets shorter. */
export const NOT_BUILT: Readonly<Record<string, "not built yet">> = {
  "/active-callaware-calls": "not built yet",
  "/alarms/{alarmId}/events": "not built yet",
};

/** Families that nothing serves under the prefix of the appliance yet. */
export const NOT_BUILT_ON_PREMISES: Readonly<Record<string, "not built yet">> = {
  "plugins/night-bell": "not built yet",
  "plugins/call-aware": "not built yet",
  "plugins/m2m": "not built yet",
};

/** Options of served fields whose families nothing serves yet, as the checklist tells them. */
export const NOT_BUILT_OPTIONS: Readonly<Record<string, "not built yet">> = {
  "/bulk-uploads: resourceType call-aware-call-redirects answered 400 invalid-value: Field resourceType is not valid.":
    "not built yet",
  "/bulk-uploads: resourceType call-aware-routing-requests answered 400 invalid-value: Field resourceType is not valid.":
    "not built yet",
  "/bulk-uploads: resourceType dialing-configurations answered 400 invalid-value: Field resourceType is not valid.":
    "not built yet",
};
