/**
 * What Node's permission model leaves open in a plugin's process is closed here, before the plugin is loaded: signals to other
 * processes, engine flags that write files, reports, and the network.
 * @source docs/decisions/0653-plugins-in-processes.md
 */

import childProcess from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns";
import dnsPromises from "node:dns/promises";
import { syncBuiltinESMExports } from "node:module";
import net, { BlockList, isIP, type Socket } from "node:net";
import os from "node:os";
import traceEvents from "node:trace_events";
import v8 from "node:v8";
import { UpstreamError } from "../lib/errors.ts";
import type { ConnectPolicy } from "./connect-policy.ts";
import type { PluginPortSettings } from "./plugin-protocol.ts";

export interface ProcessGuardDeps {
  /** The connection with the daemon, a pipe. */
  link: Socket;
  policy: ConnectPolicy;
  ports: readonly PluginPortSettings[];
  /** A connection, a name or an act that was refused. */
  onRefused(what: string): void;
}

type AnyFunction = (this: unknown, ...args: unknown[]) => unknown;
type Methods = Record<string, AnyFunction>;

/** Error codes of libuv and of the resolver, for "not allowed". */
const UV_EACCES = -13;
const RESOLVER_REFUSED = "EREFUSED";

/** Closes what the permission model leaves open; nothing undoes it. */
export function guardProcess(deps: ProcessGuardDeps): void {
  removeFunctions(deps);
  guardNames(deps);
  guardHandles(deps);
  lockIntrinsics();
  syncBuiltinESMExports();
}

/** A plugin could signal the daemon, slow it down, make it open its debugger, or have the engine write files anywhere. */
function removeFunctions({ onRefused }: ProcessGuardDeps): void {
  const refuse = (name: string): AnyFunction =>
    function refused() {
      onRefused(name);
      throw notAllowed(name);
    };
  // Some write files into the current folder, wherever that is.
  for (const name of ["kill", "_kill", "_debugProcess", "_debugEnd", "_startProfilerIdleNotifier", "chdir"])
    lock(process, name, refuse(`process.${name}`));
  lock(traceEvents, "createTracing", refuse("trace_events.createTracing"));
  lock(v8, "setHeapSnapshotNearHeapLimit", refuse("v8.setHeapSnapshotNearHeapLimit"));
  lock(process, "report", undefined);
  lock(v8, "setFlagsFromString", refuse("v8.setFlagsFromString"));
  lock(os, "setPriority", refuse("os.setPriority"));
  const { ChildProcess } = childProcess as unknown as { ChildProcess: new () => { _handle: object } };
  const handles = Object.getPrototypeOf(new ChildProcess()._handle) as Methods;
  for (const name of ["kill", "spawn"]) lock(handles, name, refuse(`child process: ${name}`));
}

function guardNames({ policy, ports, onRefused }: ProcessGuardDeps): void {
  const local = new Set(ports.map(({ host }) => host));
  const permits = (name: unknown): boolean => {
    if (typeof name !== "string") return name === undefined || name === null;
    if (name === "" || isIP(name) !== 0 || local.has(name) || policy.permitsName(name)) return true;
    onRefused(name);
    return false;
  };
  const note = (name: unknown, found: unknown): void => {
    for (const each of Array.isArray(found) ? found : [found]) {
      const address: unknown = typeof each === "string" ? each : (each as { address?: unknown } | null)?.address;
      if (typeof name === "string" && typeof address === "string" && isIP(name) === 0 && !local.has(name))
        policy.resolved(name, address);
    }
  };
  const lookup = dns.lookup as unknown as AnyFunction;
  const guardedLookup = function guarded(name: unknown, ...rest: unknown[]): unknown {
    const callback = rest.at(-1) as AnyFunction;
    if (!permits(name)) return void queueMicrotask(() => callback.call(undefined, notAllowed(String(name))));
    const done = (error: unknown, found: unknown, ...more: unknown[]): void => {
      note(name, found);
      callback.call(undefined, error, found, ...more);
    };
    return lookup.call(dns, name, ...rest.slice(0, -1), done);
  };
  // How it becomes a promise is noted in properties.
  Object.defineProperties(guardedLookup, Object.getOwnPropertyDescriptors(lookup));
  lock(dns, "lookup", guardedLookup);
  const resolveLater = dnsPromises.lookup as unknown as AnyFunction;
  lock(dnsPromises, "lookup", async function guarded(name: unknown, ...rest: unknown[]) {
    if (!permits(name)) throw notAllowed(String(name));
    const found = await resolveLater.call(dnsPromises, name, ...rest);
    note(name, found);
    return found;
  });
  const refuse = (name: string): AnyFunction =>
    function refused() {
      throw notAllowed(name);
    };
  for (const api of [dns, dnsPromises])
    for (const name of ["lookupService", "setServers"]) lock(api, name, refuse(name));
  const { _handle } = new dns.Resolver() as unknown as { _handle: object };
  const resolver = Object.getPrototypeOf(_handle) as Methods;
  for (const name of Object.getOwnPropertyNames(resolver)) {
    const query = resolver[name];
    if (!query || (!name.startsWith("query") && name !== "getHostByAddr" && name !== "setServers")) continue;
    lock(resolver, name, function guarded(this: unknown, ...args: unknown[]) {
      if (name === "setServers") return 1;
      return name !== "getHostByAddr" && permits(args[1]) ? query.apply(this, args) : RESOLVER_REFUSED;
    });
  }
}

/** Every connection of every library goes through these handles. */
function guardHandles({ policy, ports, link, onRefused }: ProcessGuardDeps): void {
  const permits = (address: unknown): boolean => {
    if (typeof address === "string" && policy.permitsAddress(address)) return true;
    onRefused(String(address));
    return false;
  };
  const isPort = (address: unknown, port: unknown): boolean =>
    ports.some((each) => each.port === port && (each.host === address || isIP(each.host) === 0));
  const onlyIf = (handle: Methods, name: string, allows: (args: readonly unknown[]) => boolean): void => {
    const method = handle[name];
    if (!method) return;
    lock(handle, name, function guarded(this: unknown, ...args: unknown[]) {
      return allows(args) ? method.apply(this, args) : UV_EACCES;
    });
  };
  const tcp = tcpHandleMethods();
  for (const name of ["connect", "connect6"]) onlyIf(tcp, name, ([, address]) => permits(address));
  for (const name of ["bind", "bind6"])
    onlyIf(tcp, name, ([address, port]) => {
      if (isPort(address, port)) return true;
      onRefused(`listen ${String(address)}:${String(port)}`);
      return false;
    });
  const udp = udpHandleMethods();
  for (const name of ["connect", "connect6"]) onlyIf(udp, name, ([address]) => permits(address));
  // Sockets that are connected send without an address.
  for (const name of ["send", "send6"]) onlyIf(udp, name, (args) => args.length < 5 || permits(args[4]));
  // Touched first: they are pipes, too.
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const pipe = Object.getPrototypeOf((link as unknown as { _handle: object })._handle) as Methods;
  for (const name of ["connect", "bind"])
    onlyIf(pipe, name, (args) => {
      onRefused(`unix ${String(args.find((each) => typeof each === "string"))}`);
      return false;
    });
}

function tcpHandleMethods(): Methods {
  const create = (net as unknown as { _createServerHandle: (address: string, port: number, family: 4) => unknown })
    ._createServerHandle;
  const handle = create("127.0.0.1", 0, 4);
  if (typeof handle !== "object" || handle === null) throw notAllowed("network");
  (handle as { close(): void }).close();
  return Object.getPrototypeOf(handle) as Methods;
}

function udpHandleMethods(): Methods {
  const socket = dgram.createSocket("udp4");
  const symbols = Object.getOwnPropertySymbols(socket);
  const state = symbols.map((symbol) => (socket as unknown as Record<symbol, { handle?: object }>)[symbol]);
  const handle = state.find((each) => typeof each?.handle === "object")?.handle;
  socket.close();
  if (!handle) throw notAllowed("network");
  return Object.getPrototypeOf(handle) as Methods;
}

/** The policy uses these functions, so a plugin must not replace them. */
function lockIntrinsics(): void {
  const lists = new BlockList();
  const handles = Object.getOwnPropertySymbols(lists).map(
    (symbol) => (lists as unknown as Record<symbol, object>)[symbol],
  );
  const shared: object[] = [Array.prototype, String.prototype, Set.prototype, Map.prototype, RegExp.prototype];
  shared.push(Function.prototype, BlockList.prototype, BlockList);
  for (const handle of handles)
    if (typeof handle === "object" && handle !== null) shared.push(Object.getPrototypeOf(handle));
  for (const iterator of [[][Symbol.iterator](), new Set()[Symbol.iterator](), new Map()[Symbol.iterator]()])
    shared.push(Object.getPrototypeOf(iterator));
  for (const each of shared) lockMethods(each);
  for (const name of ["isIP", "isIPv4", "isIPv6", "BlockList"]) lock(net, name, (net as unknown as Methods)[name]);
  lock(os, "networkInterfaces", os.networkInterfaces);
}

/** Packages that derive classes may still assign these. */
const ASSIGNABLE = ["constructor", "toString", "toLocaleString", "valueOf"];

function lockMethods(target: object): void {
  for (const key of Reflect.ownKeys(target)) {
    const found = Object.getOwnPropertyDescriptor(target, key);
    if (typeof found?.value !== "function" || !found.configurable || ASSIGNABLE.includes(String(key))) continue;
    Object.defineProperty(target, key, { value: found.value, writable: false, configurable: false });
  }
}

function lock(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, writable: false, configurable: false, enumerable: true });
}

function notAllowed(what: string): Error {
  return Object.assign(new UpstreamError("upstream", `The plugin's manifest does not allow ${what}.`), {
    code: "EACCES",
  });
}
