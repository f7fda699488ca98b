import type { PlantedBug } from "../planted-bugs.ts";

const REFUSED_INSTEAD_OF_WAITING: Pick<PlantedBug, "file" | "changes"> = {
  file: "src/sync/hub/upstream-feed.ts",
  changes: [
    [
      "const awaited = missing[0] && (yield* findDeleted(missing)) === null ? missing[0] : null;",
      "const awaited = null as MissingReference | null;",
    ],
  ],
};

/** Bugs that the random first syncs must find; the first ones were in the product. */
export const FIRST_SYNC_BUGS: readonly PlantedBug[] = [
  { name: "early-rows-are-refused", ...REFUSED_INSTEAD_OF_WAITING },
  {
    name: "adopting-removes-refused-rows",
    ...REFUSED_INSTEAD_OF_WAITING,
    also: [
      {
        file: "src/sync/site/downstream-feed.ts",
        changes: [["if (!body && !applied && (yield* isHeld", 'if (!body && !applied && id === "" && (yield* isHeld']],
      },
    ],
  },
  {
    name: "circles-wait-for-ever",
    file: "src/sync/hub/upstream-feed.ts",
    changes: [["yield* finishCircle(uid, types, origin.now);", ""]],
  },
  {
    name: "circles-at-the-appliance-are-refused",
    file: "src/sync/site/downstream-feed.ts",
    changes: [["row.waits >= CIRCLE_WAITS", "row.waits >= 1_000"]],
  },
  {
    name: "changes-while-rows-are-sent-are-forgotten",
    file: "src/sync/initial-sync/initial-sync.ts",
    changes: [["if (!(yield* processLateChanges(tx, job, isLate))) return false;", ""]],
  },
  {
    name: "missing-home-domains-are-left-out",
    file: "src/store/row-values.ts",
    changes: [
      [
        "if (home === null && row.domainId !== null) errors.push",
        'if (home === null && row.domainId === "") errors.push',
      ],
    ],
  },
  {
    name: "floors-are-put-on-top-again",
    file: "src/places/place-hooks.ts",
    changes: [['if (op !== "create" || !after || by.replicated) return;', 'if (op !== "create" || !after) return;']],
  },
  {
    name: "groups-before-their-extension-are-refused",
    file: "src/plugin-host/collaboration-group-hooks.ts",
    changes: [["!by.replicated &&", "true &&"]],
  },
];
