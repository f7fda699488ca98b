/**
 * `npm run faults`: runs the hostile inputs and the injected faults one after the other (about twenty minutes) and prints a
 * table of goals and results. Faults that this machine cannot inject (no root, a program missing) are listed as skipped. A
 * run that hangs is stopped after half an hour.
 * `npm run faults -- inputs [NUMBER]`: sends the forty hostile inputs, or the one with this number: no response is 5xx,
 * invalid input is rejected, the daemon neither exits nor hangs.
 * `npm run faults -- disk [NUMBER] [--seed S]`: injects disk failures with a library between the store and the kernel.
 * NUMBER (1000) power cuts lose no acknowledged write; without fsync rows are lost, which proves that the cuts take effect.
 * Writes that do not wait for the disk lose at most their last records, and ten starts from such disks create the
 * notifications again. After a failed fsync no request is answered with 200 and the daemon exits. Needs a C compiler.
 * `npm run faults -- files`: limits a daemon to 64 open files: it keeps running and responds again when clients disconnect.
 * `npm run faults -- kills [NUMBER] [--seed S]`: kills the daemon NUMBER (100) times under load and looks for acknowledged
 * creates that were lost.
 * `npm run faults -- fuzz [NUMBER] [--seed S]`: sends NUMBER (100000) requests generated from the API, and the hostile
 * inputs: no response is 5xx, the daemon neither exits nor hangs, and its memory does not grow.
 * `npm run faults -- bulk [NUMBER]`: uploads NUMBER (100000) speakers: a dry run, an invalid line and a kill halfway leave
 * no rows behind, a commit creates all of them, and no event loop turn uses more than 20 ms of CPU time.
 * `npm run faults -- flaps [NUMBER] [--seed S]`: opens and closes alarms NUMBER (10000) times in virtual time, with 50
 * crashes: opened and closed events alternate, each action runs once.
 * `npm run faults -- failover [NUMBER] [--seed S] [--bug NAME|all]`: kills the active appliance NUMBER (1000) times around
 * the minute of a bell in virtual time: each bell rings within 5 s, and twice only where that is allowed. With planted bugs
 * the exit code is 0 if each was caught.
 * `npm run faults -- clock [NUMBER]`: changes the daemon's clock, suspends and stops the daemon around rings, in all scenes
 * or the one with this number (five minutes for all; needs Debian's faketime): each ring is heard once on time, or late, or
 * recorded as missed.
 * `npm run faults -- time-zones`: compares every time zone of schedules from 1970 to 2060 with Python's zoneinfo on the same
 * database (five minutes), and lists the names that this machine's database lacks or defines differently.
 * `npm run faults -- calendars [FOLDER] [--fuzz N] [--seed S]`: imports the written inputs and all .ics, .xml (CAP), .csv and
 * .zip (roster) files below FOLDER through the API, with `--fuzz` also N mutated files (1000 of them through the API, all by
 * the readers): no import hangs or is answered with 5xx,
 * and no event loop turn uses more than 20 ms of CPU time. Prints what was read, skipped and refused, and why.
 * `npm run faults -- rosters [NUMBER]`: loads a roster of NUMBER (100000) people with two classes each, twice: no event loop
 * turn uses more than 20 ms of CPU time.
 * `npm run faults -- bells [NUMBER]`: changes one day of NUMBER (3500) bell schedules in one request and reverts it, while a
 * bell rings every few seconds: no event loop turn uses more than 20 ms of CPU time, each bell is heard once.
 * `npm run faults -- phones [NUMBER]`: imports NUMBER (20000) phones from a call manager, changes 500 of them, and makes its
 * administration interface fail in every way.
 * `npm run faults -- systemd`: runs the shipped service under a separate systemd (as root), sends a notification, makes the
 * daemon hang and kills it: it works again within 10 s and records the restart. Runs the timer's backup, and upgrades: a
 * healthy version stays, one that crashes is rolled back. The secret key is a systemd credential throughout.
 * `npm run faults -- package`: installs the Debian package in a clean Debian (as root, with mmdebstrap and a Debian mirror):
 * the first page is there within 60 s, upgrades keep the data, a version that does not start is rolled back, an upgrade is
 * undone, and purging leaves nothing.
 * `npm run faults -- disk-full`: fills the disk under a running daemon (as root): writes are refused with 507, reads work,
 * the alarm opens before the disk is full, and all works again within 5 s after space is freed.
 * `npm run faults -- backup [NUMBER] [--seed S]`: backs up NUMBER (100000) rows under four writers, kills the daemon 20 times
 * during a backup, restores one and damages one: no event loop turn uses more than 20 ms of CPU time, and in most backups none
 * takes longer including disk waits; the last complete backup is kept, no temporary files remain, a flipped bit is located.
 * `npm run faults -- cloud [MINUTES] [--seed S]`: runs a cloud and two appliances in network namespaces under four writers for
 * MINUTES (5), while connections are cut, blackholed and slowed, daemons are killed and suspended, and clocks are changed.
 * ffmpeg hears notifications from the cloud as their priority demands. Afterwards all sides agree within 30 s, no acknowledged
 * write is lost, nothing is announced twice. Root or user namespaces; clocks need Debian's faketime.
 * `npm run faults -- cover [NUMBER] [--seed S]`: in the same network, kills the active appliance NUMBER (20) times around a
 * bell, every fifth time during a partition: ffmpeg hears each bell within 5 s, and twice only where that is allowed.
 * `npm run faults -- catch-up [ROUNDS] [ROWS]`: in the same network, an appliance is offline for three days of its clock, while
 * each of ROWS (10000) rows changes ten times, then ROUNDS (5) times while each changes once: each row is transferred once,
 * emergencies during the catch-up are heard within 300 ms (p99; on a shared machine: twice the delay of an idle link), an
 * expired one is reported as expired and never heard. Needs Debian's faketime.
 * `npm run faults -- answers [NUMBER] [--seed S]`: NUMBER (10000) recipients of a notification respond within 5 s, some of them
 * twice, and the daemon is killed after the last response and around the time at which an escalation is due: counters and
 * the follow-ups of the first responders are exact, the escalation is sent once.
 * `npm run faults -- emergency [ROUNDS]`: sends ROUNDS (10) emergencies to 1000 devices while 50 routine notifications play on
 * all of them, and as many while these are still being sent: 99 % of the devices get the first packet within 1 s of the POST.
 * `npm run faults -- calls [NUMBER]`: calls NUMBER (500) SIP devices, 200 a second, plays two seconds of audio and hangs up.
 * Needs Debian's sip-tester.
 * `npm run faults -- hub-nodes [ROUNDS]`: runs two cloud nodes on one PostgreSQL and two appliances in network namespaces under
 * writes, and ROUNDS (6) times kills the leader, restarts the database, or promotes its replica: both appliances have the
 * next write within 10 s, no acknowledged write is lost, no row exists twice. As root, with Debian's postgresql.
 * `npm run faults -- adopt [ROUNDS] [ROWS] [--seed S]`: ROUNDS (6) appliances with up to ROWS (3) random rows of every resource,
 * which refer to one another in every declared way, adopt and join clouds while processes are killed. Prints a table of the
 * rows before and after on both sides: none is lost, and all are equal. With ROUNDS 0 one appliance with ROWS people adopts a
 * cloud, and the longest turns of both event loops are printed.
 * `npm run faults -- flood [EMERGENCIES] [FLOOD,FLOOD...] [--bug admission-off|lane-off]`: sends EMERGENCIES (20) during each
 * flood: anonymous clients that search, read, hold connections or guess passwords, and a user with read access who sends each of
 * the 30 most expensive requests, over 200 connections. Phones get each emergency within 1 s (p99), the watchdog is fed at least
 * every 2 s, no request of a session is refused. Floods: search, same-user, openapi, console, connections,
 * connections-of-this-address, phone-authentication, set-up, log-in, expensive. A planted bug must exceed a limit.
 * `npm run faults -- attack [WORDS]`: tries to read, change and reach what the attacker has no right to, as a stranger, a pupil
 * without permissions, the manager of one of two schools, a website in an administrator's browser and an installed plugin, in all ways or those
 * whose description has WORDS. Prints a table of who tried what, what was answered and what it brought.
 * `npm run faults -- network [SCENE] [--bug no-watch]`: changes the network of a daemon in a network namespace, in all scenes
 * or the first and the one with this number: an address that arrives late or changes, an interface down and up, a pulled
 * cable, two interfaces, a moving default route, no multicast route, and packet marks (DSCP). Zones and a SIP speaker play
 * again within 2 s of the network's return, health reports each fault and its end, and no delivery is `sent` while packets
 * cannot leave. Prints a table. The planted bug, a daemon that ignores network changes, must fail. Root or user namespaces.
 * `npm run faults -- heard [ROOMS] [SEED] [--write] [--bug level-rule]`: detects playback with the agent's microphone in ROOMS
 * (2000) synthetic rooms (reverberation, noise, speech, doors, other audio, drifting clocks), half of them with a dead speaker:
 * no dead speaker is reported as heard, and at least 99 % of the others are if the speaker is as loud as the noise. The planted
 * bug, the 6 dB rule of earlier agents, must fail. `--write` writes the figures into docs/benchmarks.md.
 * The last line has the figures. Exit code 1 if a goal was missed.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { writtenInputs } from "../fixtures/calendar-inputs.ts";
import { writeBenchmarkTable } from "../support/benchmark-tables.ts";
import { readArguments } from "../support/harness-arguments.ts";
import { timeZoneAliases } from "../support/time-zone-oracle.ts";
import { adoptAppliances, adoptionTable, adoptManyRows } from "./adopt.ts";
import { flapAlarms } from "./alarm-flaps.ts";
import { attackDaemon, attackTable } from "./attack/attack.ts";
import { backupUnderLoad } from "./backup.ts";
import { changeManySchedules } from "./bulk-schedule-changes.ts";
import { interruptBulkUpload } from "./bulk-upload.ts";
import { corpusTable, mutatedFiles, readCorpus, runCorpus } from "./calendars.ts";
import { CLOCK_STORIES, libfaketime, playClockStories } from "./clock.ts";
import { injectDiskFailures } from "./disk-failures.ts";
import { fillDisk } from "./disk-full.ts";
import { measureEmergencies } from "./emergency.ts";
import { killAroundBells } from "./failover.ts";
import { detectPlantedBugs } from "./failover-bugs.ts";
import { measureSoundDuringCatchUp } from "./field/catch-up.ts";
import { injectCloudFaults } from "./field/cloud.ts";
import { killActiveAppliance } from "./field/failover.ts";
import { reexecInNamespace } from "./field/network-namespaces.ts";
import { brokenLimits, floodDaemon } from "./flood/flood.ts";
import { fuzz } from "./fuzz.ts";
import { heardReport, hearRooms } from "./heard.ts";
import { sendHostileInputs } from "./hostile-inputs.ts";
import { failNodes } from "./hub-nodes.ts";
import { killUnderLoad } from "./kills.ts";
import { MAX_TURN_MS } from "./loop-monitor.ts";
import { changeNetwork, NETWORK_SCENES, networkTable } from "./network.ts";
import { exhaustOpenFiles } from "./open-files.ts";
import { installPackages } from "./package.ts";
import { fuzzReaders } from "./reader-fuzz.ts";
import { maxResponseRate, runResponseStorm } from "./response-storm.ts";
import { loadRoster } from "./roster-load.ts";
import { runAll } from "./run-all.ts";
import { callMany } from "./sip-calls.ts";
import { underSystemd } from "./systemd.ts";
import { compareAllZones } from "./time-zones.ts";

/** Longest time that a hostile input may block the event loop. */
const MAX_LOOP_DELAY_MS = 250;
/** Mutated files that are brought to a daemon; all are read by its readers. */
const MOST_BY_API = 1_000;
/** Exit code of a daemon whose disk failed. */
const DISK_FAULT = 74;

const say = (progress: string): void => void process.stderr.write(`${progress}\n`);
const { values, positionals } = readArguments("faults", {
  seed: { type: "string", default: "1" },
  bug: { type: "string" },
  fuzz: { type: "string" },
  write: { type: "boolean", default: false },
});
const [what, number, rows] = positionals;
const seed = Number(values.seed);
const given =
  what === "attack" ? [] : what === "calendars" ? [values.fuzz] : what === "flood" ? [number] : [number, rows];
if (!/^\d{1,9}$/.test(values.seed) || given.some((each) => each !== undefined && !/^\d{1,7}$/.test(each))) usage();

if (what === undefined) {
  process.exitCode = (await runAll(say)) ? 0 : 1;
} else if (what === "inputs") {
  const { verdicts, ...figures } = await sendHostileInputs(number === undefined ? null : Number(number), say);
  const broken = verdicts.filter((verdict) => verdict.broken.length > 0);
  process.stdout.write(
    `${JSON.stringify({ inputs: verdicts.length, ...figures, broken: broken.map(({ number }) => number) })}\n`,
  );
  process.exitCode =
    broken.length === 0 && verdicts.length > 0 && figures.alive && figures.turnMaxMs <= MAX_LOOP_DELAY_MS ? 0 : 1;
} else if (what === "attack") {
  const results = await attackDaemon([number ?? ""], say);
  process.stdout.write(`| Who | Tries | Answered | Gains |\n| --- | --- | --- | --- |\n${attackTable(results)}\n`);
  const successes = results.filter(({ gains }) => gains.length > 0);
  process.stdout.write(`${JSON.stringify({ attacks: results.length, successes: successes.length })}\n`);
  process.exitCode = results.length > 0 && successes.length === 0 ? 0 : 1;
} else if (what === "disk") {
  const run = await injectDiskFailures({ creates: 400, cuts: Number(number ?? 1_000), starts: 10 }, seed, say);
  process.stdout.write(`${JSON.stringify(run)}\n`);
  const { answered, power, control, takenAfterwards, endedMs, exitCode, lost, unmade } = run;
  const bites = answered > 0 && control.losing > 0 && run.unawaited > 0 && run.starts > 0;
  const kept = bites && power.losing + power.corrupt + lost + takenAfterwards + unmade === 0;
  process.exitCode = kept && endedMs <= 2_000 && exitCode === DISK_FAULT ? 0 : 1;
} else if (what === "files") {
  const run = await exhaustOpenFiles(say);
  process.stdout.write(`${JSON.stringify(run)}\n`);
  process.exitCode = run.survived && run.recoveredMs >= 0 && run.recoveredMs <= 10_000 && run.lost === 0 ? 0 : 1;
} else if (what === "kills") {
  const { kills, answered, lost } = await killUnderLoad(Number(number ?? 100), seed, say);
  process.stdout.write(`${JSON.stringify({ kills, answered, lost: lost.length })}\n`);
  for (const id of lost) say(`lost: ${id}`);
  process.exitCode = lost.length === 0 && answered > 0 ? 0 : 1;
} else if (what === "fuzz") {
  const { faults, ...figures } = await fuzz(Number(number ?? 100_000), seed, say);
  for (const fault of faults) say(fault);
  process.stdout.write(`${JSON.stringify({ ...figures, faults: faults.length })}\n`);
  const { alive, lagP99Ms, machineLagP99Ms, growthBytes } = figures;
  const kept = faults.length === 0 && alive && lagP99Ms - machineLagP99Ms < 100 && growthBytes < 100e6;
  process.exitCode = kept ? 0 : 1;
} else if (what === "answers") {
  const plan = { recipients: Number(number ?? 10_000), within: 5, escalatesAfter: 45, seed };
  const { broken, ...figures } = await runResponseStorm(plan, say);
  for (const promise of broken) say(promise);
  const limitPerProcessorSecond = await maxResponseRate();
  const ofLimit = Math.round((figures.perProcessorSecond / limitPerProcessorSecond) * 100) / 100;
  process.stdout.write(`${JSON.stringify({ ...figures, limitPerProcessorSecond, ofLimit, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.seconds <= plan.within ? 0 : 1;
} else if (what === "emergency") {
  const figures = await measureEmergencies({ devices: 1_000, running: 50, rounds: Number(number ?? 10) }, say);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  const { sounding, sending, broken } = figures;
  process.exitCode = Math.max(sounding.p99Ms, sending.p99Ms) <= 1_000 && broken.length === 0 ? 0 : 1;
} else if (what === "calls") {
  const figures = await callMany({ calls: Number(number ?? 500), perSecond: 200, soundMs: 2_000 });
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exitCode = figures.answered === figures.calls && figures.endedWell ? 0 : 1;
} else if (what === "bulk") {
  const figures = await interruptBulkUpload(Number(number ?? 100_000), say);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  process.exitCode = figures.broken.length === 0 && figures.pulse.longTurns === 0 ? 0 : 1;
} else if (what === "flaps") {
  const { broken, ...figures } = await flapAlarms({ flaps: Number(number ?? 10_000), crashes: 50, seed });
  for (const promise of broken) say(promise);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} else if (what === "failover" && values.bug !== undefined) {
  const { bugs, missed } = await detectPlantedBugs(values.bug, Number(number ?? 300), seed, say);
  process.stdout.write(`${JSON.stringify({ bugs, caught: bugs - missed.length, missed })}\n`);
  process.exitCode = bugs > 0 && missed.length === 0 ? 0 : 1;
} else if (what === "failover") {
  const { broken, ...figures } = await killAroundBells(Number(number ?? 1_000), seed);
  for (const promise of broken) say(promise);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 ? 0 : 1;
} else if (what === "clock") {
  const library = libfaketime();
  if (!library) fail("Install Debian's faketime first.");
  const wanted = number === undefined ? CLOCK_STORIES : CLOCK_STORIES.slice(Number(number) - 1, Number(number));
  const stories = await playClockStories(wanted, library, say);
  const broken = stories.reduce((sum, story) => sum + story.broken.length, 0);
  process.stdout.write(`${JSON.stringify({ stories: stories.length, broken })}\n`);
  process.exitCode = broken === 0 && stories.length > 0 ? 0 : 1;
} else if (what === "time-zones") {
  const { differences, ...figures } = await compareAllZones();
  for (const { name, meaning, isKnown } of timeZoneAliases())
    say(`${name} stands for ${meaning}; the runtime ${isKnown ? "has a zone of that name" : "lacks it"}`);
  for (const difference of differences.slice(0, 100)) say(difference);
  process.stdout.write(`${JSON.stringify({ ...figures, differences: differences.length })}\n`);
  process.exitCode = differences.length === 0 && figures.times > 0 ? 0 : 1;
} else if (what === "calendars") {
  const files = [...writtenInputs(), ...(number === undefined ? [] : await readCorpus(number))];
  const fuzzed = Number(values.fuzz ?? 0);
  const mutated = [...mutatedFiles(files, Math.min(fuzzed, MOST_BY_API), seed)].filter(({ kind }) => kind !== "alert");
  const folder = await mkdtemp(join(tmpdir(), "carillon-fuzz-"));
  const { hangs: stuck, bugs, ...counts } = await fuzzReaders(mutatedFiles(files, fuzzed, seed + 1), folder, say);
  await rm(folder, { recursive: true });
  for (const problem of [...stuck, ...bugs].slice(0, 50)) say(`FAULT: ${problem}`);
  process.stdout.write(`${JSON.stringify({ readers: { ...counts, hangs: stuck.length, bugs: bugs.length } })}\n`);
  const { verdicts, ...figures } = await runCorpus([...files, ...mutated], say);
  process.stdout.write(`${corpusTable(verdicts)}\n`);
  for (const { verdict, name, reason } of verdicts) if (verdict === "fault") say(`FAULT: ${name}: ${reason}`);
  for (const turn of figures.longTurns) say(`LONG: ${turn}`);
  process.stdout.write(
    `${JSON.stringify({ files: verdicts.length, ...figures, longTurns: figures.longTurns.length })}\n`,
  );
  const { alive, hangs, serverErrors, pulse } = figures;
  const isSound = alive && hangs + serverErrors + stuck.length + bugs.length === 0;
  process.exitCode = isSound && pulse.turnMaxMs <= MAX_TURN_MS ? 0 : 1;
} else if (what === "rosters") {
  const { first, again, machineTurnMaxMs } = await loadRoster(Number(number ?? 100_000), say);
  process.stdout.write(`${JSON.stringify({ first, again, machineTurnMaxMs })}\n`);
  const kept = [first, again].every(({ state, pulse }) => state === "complete" && pulse.turnMaxMs <= MAX_TURN_MS);
  process.exitCode = kept ? 0 : 1;
} else if (what === "bells") {
  const { broken, ...figures } = await changeManySchedules(Number(number ?? 3_500), say);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.pulse.longTurns === 0 ? 0 : 1;
} else if (what === "phones") {
  // Its support is that of the test runner's.
  const { measurePhones } = await import("./call-manager-phones-at-scale.ts");
  const { broken, ...figures } = await measurePhones(Number(number ?? 20_000), say);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.pulse.turnMaxMs < MAX_TURN_MS ? 0 : 1;
} else if (what === "systemd") {
  const run = await underSystemd(say);
  process.stdout.write(`${JSON.stringify(run)}\n`);
  const { hangMs, crashMs, endings, reached, devices, broken } = run;
  const written = endings[0] === "watchdog" && endings[1] === "signal KILL";
  process.exitCode =
    hangMs <= 10_000 && crashMs <= 10_000 && written && reached === devices && broken.length === 0 ? 0 : 1;
} else if (what === "package") {
  const { broken, ...figures } = await installPackages(say);
  for (const promise of broken) say(promise);
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.firstPageMs <= 60_000 ? 0 : 1;
} else if (what === "disk-full") {
  const full = await fillDisk(say);
  process.stdout.write(`${JSON.stringify(full)}\n`);
  const { refused, reads, readsAsked, alarmed, recoveredMs, lost, survived } = full;
  const kept = refused.join() === "507 storage-full" && reads === readsAsked && alarmed && lost === 0 && survived;
  process.exitCode = kept && recoveredMs >= 0 && recoveredMs <= 5_000 ? 0 : 1;
} else if (what === "backup") {
  const run = await backupUnderLoad(Number(number ?? 100_000), 20, seed, say);
  for (const promise of run.broken) say(promise);
  process.stdout.write(`${JSON.stringify({ ...run, broken: run.broken.length })}\n`);
  const { backingUp, usuallyHeldMs, broken, named } = run;
  // A stall of the machine or of a disk that others use too comes now and then, one of the backup's own comes with each.
  const kept = backingUp.turnMaxMs <= MAX_TURN_MS && usuallyHeldMs <= MAX_TURN_MS;
  process.exitCode = broken.length === 0 && named > 0 && kept ? 0 : 1;
} else if (what === "cloud") {
  await playInField(
    () => injectCloudFaults(Number(number ?? 5), seed, say),
    ({ answered, agreedMs }) => answered > 0 && agreedMs >= 0,
  );
} else if (what === "cover") {
  await playInField(
    () => killActiveAppliance(Number(number ?? 20), seed, say),
    ({ bells }) => bells > 0,
  );
} else if (what === "catch-up") {
  const faketime = libfaketime();
  if (!faketime) fail("Install Debian's faketime first.");
  await playInField(
    () => measureSoundDuringCatchUp({ rows: Number(rows ?? 10_000), rounds: Number(number ?? 5), faketime }, say),
    ({ emergencies }) => emergencies > 0,
  );
} else if (what === "adopt" && number === "0") {
  const figures = await adoptManyRows(Number(rows ?? 100_000), say);
  process.stdout.write(`${JSON.stringify(figures)}\n`);
  const turns = [figures.hub, figures.site].map(({ turnMaxMs }) => turnMaxMs);
  process.exitCode = figures.state === "complete" && Math.max(...turns) <= MAX_TURN_MS ? 0 : 1;
} else if (what === "adopt") {
  const plan = { rounds: Number(number ?? 6), seed, rowsPerType: Number(rows ?? 3) };
  const { types, lost, ...figures } = await adoptAppliances(plan, say);
  for (const line of lost) say(`LOST: ${line.slice(0, 500)}`);
  process.stdout.write(`${adoptionTable(types)}\n${JSON.stringify({ ...figures, lost: lost.length })}\n`);
  process.exitCode = lost.length === 0 && figures.rounds > 0 ? 0 : 1;
} else if (what === "flood") {
  const floods = rows?.split(",") ?? null;
  const figures = await floodDaemon({ emergencies: Number(number ?? 20), floods, bug: values.bug ?? null }, say);
  const broken = figures.flatMap(brokenLimits);
  for (const limit of broken) say(`BROKEN: ${limit}`);
  const worst = (name: "pushP99Ms" | "watchdogGapMs" | "sessionMaxMs") =>
    Math.max(...figures.map((each) => each[name]));
  process.stdout.write(
    `${JSON.stringify({
      ...{ floods: figures.length, pushP99Ms: worst("pushP99Ms"), watchdogGapMs: worst("watchdogGapMs") },
      ...{ sessionMaxMs: worst("sessionMaxMs"), broken: broken.length },
    })}\n`,
  );
  process.exitCode = broken.length === 0 && figures.length > 0 ? 0 : 1;
} else if (what === "network") {
  if (values.bug !== undefined && values.bug !== "no-watch") usage();
  const [first = "", ...others] = NETWORK_SCENES;
  const names = number === undefined ? NETWORK_SCENES : [first, ...others.filter((_, at) => at === Number(number) - 2)];
  await playInField(
    async () => {
      const { results, ...figures } = await changeNetwork(names, values.bug === "no-watch", say);
      process.stdout.write(`${networkTable(results)}\n`);
      return { scenes: results.length, ...figures };
    },
    ({ scenes }) => scenes === names.length,
  );
} else if (what === "heard") {
  if (values.bug !== undefined && values.bug !== "level-rule") usage();
  const plan = { rooms: Number(number ?? 2_000), seed: Number(rows ?? seed), isPlanted: values.bug === "level-rule" };
  const results = await hearRooms(plan, say);
  const { broken, table, ...figures } = results;
  say(table);
  for (const promise of broken) say(promise);
  if (values.write) writeBenchmarkTable("heard", heardReport(results));
  process.stdout.write(`${JSON.stringify({ ...figures, broken: broken.length })}\n`);
  process.exitCode = broken.length === 0 && figures.silent > 0 ? 0 : 1;
} else if (what === "hub-nodes") {
  await playInField(
    () => failNodes(Number(number ?? 6), say),
    ({ answered }) => answered > 0,
  );
} else {
  usage();
}

/**
 * Plays in networks of its own: this process runs all of it once more there, and ends as that does. The last line also has
 * the machine's load over 1, 5 and 15 minutes.
 */
async function playInField<T extends { broken: string[] }>(
  play: () => Promise<T>,
  isWhole: (run: T) => boolean,
): Promise<void> {
  const code = await reexecInNamespace().catch((error: Error) => fail(error.message));
  if (code !== null) process.exit(code);
  const run = await play().catch((error: Error) => ({ broken: [`it broke off: ${error.stack}`] }) as T);
  for (const promise of run.broken) say(`BROKEN: ${promise}`);
  const load = loadavg().map((each) => Math.round(each * 10) / 10);
  process.stdout.write(`${JSON.stringify({ ...run, load, broken: run.broken.length })}\n`);
  process.exitCode = run.broken.length === 0 && isWhole(run) ? 0 : 1;
}

function usage(): never {
  fail(
    "Usage: npm run faults [-- inputs|disk|files|kills|fuzz|answers|emergency|calls|bulk|bells|flaps|failover|phones|clock|time-zones|calendars|rosters|systemd|disk-full|backup|cloud|cover|catch-up|network|hub-nodes|flood|heard [NUMBER] [--seed S]]\nSee: npm run faults -- --help",
  );
}

function fail(words: string): never {
  say(words);
  process.exit(2);
}
