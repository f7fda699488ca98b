import type { PlantedBug } from "./planted-bugs.ts";

/** Bugs of the PostgreSQL nodes that the simulation must find. */
export const POSTGRES_BUGS: readonly PlantedBug[] = [
  {
    name: "acknowledged-before-commit",
    file: "src/store/write-queue.ts",
    changes: [
      [
        "        await write.publish();\n        this.#commit.run();\n",
        "        this.#commit.run();\n        this.#groupDone(jobs.splice(0));\n        await write.publish();\n",
      ],
    ],
  },
  {
    name: "broken-commit-assumed-committed",
    file: "src/ha/postgres-row-log.ts",
    changes: [["if (head && Number(head.seq) <= base) throw cause;", "if (head && Number(head.seq) <= base) return;"]],
  },
  {
    name: "changed-rows-not-stored",
    file: "src/ha/postgres-row-log.ts",
    changes: [["DO UPDATE SET seq = excluded.seq, image = excluded.image", "DO NOTHING"]],
  },
  {
    name: "deleted-rows-stay-in-replicas",
    file: "src/store/row-images.ts",
    changes: [["if (image === null) table.drop.run(...parts);", "if (image === null) return;"]],
  },
  {
    name: "fencing-left-out",
    file: "src/ha/postgres-row-log.ts",
    changes: [["leadership.term === null || Number(head.term) !== leadership.term)", "leadership.term === null)"]],
  },
  {
    name: "broken-commit-assumed-failed",
    file: "src/ha/postgres-row-log.ts",
    changes: [["if (head?.last_write === name) return;", "if (head?.last_write === name) throw cause;"]],
  },
  {
    name: "rows-of-an-unknown-commit-not-applied",
    file: "src/ha/postgres-row-log.ts",
    changes: [["const news = after < at ? await readRowsAfter(writer, after) : [];", "const news: StoredRow[] = [];"]],
  },
  {
    name: "replicas-outlive-a-restore",
    file: "src/ha/leadership.ts",
    changes: [["SET history = gen_random_uuid() WHERE", "SET history = history WHERE"]],
  },
  {
    name: "old-replicas-not-rebuilt",
    file: "src/ha/tenant-database.ts",
    changes: [["SET floor = greatest(floor, (SELECT seq FROM last))", "SET floor = floor"]],
  },
  {
    name: "organisation-not-locked",
    file: "src/ha/postgres-row-log.ts",
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source text
    changes: [
      [
        "`BEGIN; SELECT seq, term, history FROM carillon_organisations WHERE id = ${organisation} FOR UPDATE`",
        "`BEGIN; SELECT seq, term, history FROM carillon_organisations WHERE id = ${organisation}`",
      ],
    ],
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source text
  },
];
