/** A bug that is planted in a copy of the product's code, to prove that the simulation finds it. */
export interface PlantedBug {
  name: string;
  /** Below the root of the repository. */
  file: string;
  /** Each text must occur exactly once and is replaced. */
  changes: readonly (readonly [text: string, by: string])[];
  /** Other files that it takes. */
  also?: readonly Pick<PlantedBug, "file" | "changes">[];
  /** Why the bug has no observable effect; such a bug is listed but not hunted. */
  equivalent?: string;
}

/** Bugs that the simulation must find. */
export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: "rows-without-staging",
    file: "src/sync/site/downstream-feed.ts",
    changes: [
      ["applyingCheckpoint: mark ? { to } : null", "applyingCheckpoint: { to }"],
      ['if (!mark) return "staged";', 'if (!mark) return "marked";'],
    ],
  },
  {
    name: "no-de-duplication-of-commands",
    file: "src/sync/site/command-inbox.ts",
    changes: [
      ["const known = yield* getRecord(COMMAND_INBOX, command.cid);", "const known = null as InboxCommand | null;"],
      ["if (cseq <= link.commandHighWatermark) {", "if (cseq < 0) {"],
    ],
  },
  {
    name: "no-restore-detection",
    file: "src/sync/site/handshake.ts",
    changes: [["if (!isSame) {", "if (link.incarnation < 0) {"]],
  },
  {
    name: "restore-detection-by-counters",
    file: "src/sync/site/outbox.ts",
    changes: [["return own !== null && own.uid === tail;", "return true;"]],
  },
  {
    name: "no-expiry",
    file: "src/sync/site/command-scheduler.ts",
    changes: [
      ["if (latest !== null && latest > command.notAfter)", "if (latest !== null && latest < 0)"],
      ["if (isLate(command)) {", "if (isLate(command) && false) {"],
    ],
  },
  {
    name: "no-checkpoint-owed-on-resume",
    file: "src/sync/hub/handshake.ts",
    changes: [["needsCheckpoint: hello.applied < hello.recv || snapshot !== null,", "needsCheckpoint: false,"]],
  },
  {
    name: "no-checkpoint-after-a-full-page",
    file: "src/sync/hub/site-session.ts",
    changes: [["cursor.needsCheckpoint = !page.mark;", "cursor.needsCheckpoint &&= !page.mark;"]],
  },
  {
    name: "no-sweep-after-a-snapshot",
    file: "src/sync/site/downstream-feed.ts",
    changes: [
      [
        "if ((yield* sweepRemovedRows(link, limits, tallies, journal.types)) > 0) return yield* saveTallies(tallies.of);",
        "",
      ],
    ],
  },
  {
    name: "floor-not-raised",
    file: "src/sync/hub/retention.ts",
    changes: [["if (last && last.seq > state.floor)", "if (last && last.seq < 0)"]],
  },
  {
    name: "facts-applied-twice",
    file: "src/sync/hub/upstream-feed.ts",
    changes: [["if (known?.uid === uid) return;", ""]],
  },
  {
    name: "edits-decided-twice",
    file: "src/sync/hub/upstream-feed.ts",
    changes: [["if (earlier) return", "if (earlier && !earlier.uid) return"]],
  },
  {
    name: "commands-overtake-each-other",
    file: "src/sync/site/site-sync.ts",
    changes: [["live.early.push(frame);", "enqueueFrame(wire, frame);"]],
  },
  {
    name: "started-after-a-crash-is-forgotten",
    file: "src/sync/site/command-inbox.ts",
    changes: [
      ["      yield* requestFullResync();\n      continue;", "      continue;"],
      ["const next =\n      command", "if (command) continue;\n    const next =\n      command"],
    ],
  },
  {
    name: "routine-repeated-after-a-crash",
    file: "src/sync/site/command-inbox.ts",
    changes: [['resumed(command) : "interrupted";', 'resumed(command) : "armed";']],
  },
  {
    name: "parts-changed-without-a-new-epoch",
    file: "src/sync/hub/handshake.ts",
    // biome-ignore-start lint/suspicious/noTemplateCurlyInString: source text
    changes: [["`${epoch}/${given}`", "`${epoch}/${given * 0}`"]],
    // biome-ignore-end lint/suspicious/noTemplateCurlyInString: source text
  },
  {
    name: "leases-at-once-after-a-restore",
    file: "src/sync/hub/group-leases.ts",
    changes: [["if (!isKept && now < since", "if (!isKept && now < 0 * since"]],
  },
  {
    name: "leases-renewed-too-late",
    file: "src/sync/site/site-sync.ts",
    changes: [["const LEASE_RENEW_MS = 5_000;", "const LEASE_RENEW_MS = 20_000;"]],
  },
  {
    name: "bulk-before-commands",
    file: "src/sync/transport/priority-multiplexer.ts",
    changes: [
      [
        "const frame = hot.shift() ?? (underWay > 0 ? undefined : (control.shift() ?? bulk.shift()));",
        "const frame = (underWay > 0 ? undefined : bulk.shift()) ?? hot.shift();",
      ],
    ],
  },
  {
    name: "frames-not-validated",
    file: "src/sync/protocol/frame-schemas.ts",
    changes: [["  if (!success) {", "  if (!success && error.issues.length < 0) {"]],
  },
  {
    name: "files-never-resumed",
    file: "src/sync/files/file-transfer.ts",
    changes: [["from: await blobs.partialSize(sha256) });", "from: 0 });"]],
  },
  {
    name: "files-of-appliances-never-requested",
    file: "src/sync/hub/upstream-feed.ts",
    changes: [["yield* requestFiles(HUB_FILE_REQUESTS, files, { holder: endpoint, rank: 1 });", ""]],
  },
  {
    name: "no-state-resend-after-a-restore",
    file: "src/sync/site/handshake.ts",
    changes: [['stateResend: { type: "", after: null },', "stateResend: null,"]],
  },
  {
    name: "superseded-records-of-an-image-not-requeued",
    file: "src/sync/site/handshake.ts",
    changes: [["if (welcome.up.bulk.hw > link.bulkAcked) {", "if (link.incarnation < 0) {"]],
  },
  {
    name: "unreported-state-kept",
    file: "src/sync/hub/upstream-feed.ts",
    changes: [["if (row.inc >= inc) continue;", "if (row.inc >= 0) continue;"]],
  },
  {
    name: "rows-counted-twice",
    file: "src/sync/site/downstream-feed.ts",
    changes: [
      [
        "yield* putRecord(SYNC_STATE, { ...link, ...snap, applied: to, applyingCheckpoint: null, tallies: {} });",
        "yield* putRecord(SYNC_STATE, { ...link, ...snap, applied: to, applyingCheckpoint: null });",
      ],
    ],
  },
  {
    name: "windows-never-reopen",
    file: "src/sync/transport/flow-control-window.ts",
    changes: [["inFlightBytes -= inFlight.shift() ?? 0;", "inFlight.shift();"]],
  },
  {
    name: "position-committed-before-the-rows",
    file: "src/sync/site/site-sync.ts",
    changes: [
      [
        "const results = await store.transact(function* () {",
        `const first = received[at] as DownstreamPage;
      await store.transact(function* () {
        const link = yield* readSyncState();
        if (link.received === first.from && !link.applyingCheckpoint)
          yield* putRecord(SYNC_STATE, { ...link, received: first.to });
      });
      const results = await store.transact(function* () {`,
      ],
      [
        "stored.push(yield* stagePage(page, types));",
        "stored.push(yield* stagePage(page === first ? { ...page, from: page.to } : page, types));",
      ],
    ],
  },
  {
    name: "started-committed-after-playback",
    file: "src/sync/site/command-scheduler.ts",
    changes: [
      ['const isStarted = await transition(cid, "armed", "started");', "const isStarted = true;"],
      [
        "if (!isOver) sounding.set(cid, stop);",
        'if (!isOver) sounding.set(cid, stop);\n    await transition(cid, "armed", "started");',
      ],
    ],
  },
  {
    name: "command-numbers-kept-over-epochs",
    file: "src/sync/site/handshake.ts",
    changes: [
      [
        "commandHighWatermark: isNewEpoch ? 0 : link.commandHighWatermark,",
        "commandHighWatermark: link.commandHighWatermark,",
      ],
    ],
  },
  {
    name: "restored-cloud-keeps-its-epoch",
    file: "src/sync/adopt-restored-data.ts",
    changes: [
      [
        'if (yield* getRecord(FEED_HEAD, "head")) yield* startEpoch(journal.newId(), journal.now);',
        'yield* getRecord(FEED_HEAD, "head");',
      ],
    ],
  },
  {
    name: "out-of-sequence-pages-staged",
    file: "src/sync/site/downstream-feed.ts",
    changes: [
      ["if (hasGap || isInSnapshot || link.applyingCheckpoint)", "if (isInSnapshot || link.applyingCheckpoint)"],
    ],
  },
  {
    name: "out-of-sequence-pages-of-appliances-applied",
    file: "src/sync/hub/upstream-feed.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text
    changes: [["if (page.from !== link[`${lane}Hw`])", "if (page.from < 0)"]],
  },
  {
    name: "sweep-before-the-rows",
    file: "src/sync/site/downstream-feed.ts",
    changes: [["const isSweepDue = isResync && staged.length === 0;", "const isSweepDue = isResync;"]],
  },
];
