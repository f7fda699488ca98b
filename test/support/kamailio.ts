import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { makeTempDir } from "./temp-dir.ts";

/** A SIP server of other people's making: it keeps where phones are, asks for passwords and stays on the way of calls. */
export interface Kamailio {
  readonly port: number;
  /** The requests that it passed on or took, repetitions left out, and how they came: `BYE by udp`; refusals by their status. */
  readonly requests: readonly string[];
  stop(): Promise<void>;
}

/** What it asks for. */
export interface KamailioRules {
  /** For UDP and TCP. */
  port: number;
  /** Everybody's, and how it is to be proven. */
  password: string;
  algorithm: "MD5" | "SHA-256";
  /** Longest registration, s. */
  maxSeconds: number;
  /** Registrations for less are refused (423), s. */
  minSeconds: number;
  /** Port of an appliance on loopback to which it passes calls of numbers of three digits. */
  appliancePort?: number;
}

const READY = "carillon: ready";

/**
 * Starts one on loopback; resolves when it takes requests. REGISTER, INVITE and BYE are asked for a password, INVITE to
 * `twice-<name>` for that of a second server too; `open…` is asked for none, for phones that know MD5 alone.
 */
export async function startKamailio(rules: KamailioRules): Promise<Kamailio> {
  const folder = makeTempDir();
  writeFileSync(join(folder, "kamailio.cfg"), configOf(rules));
  const where = ["-f", join(folder, "kamailio.cfg"), "-Y", folder, "-P", join(folder, "pid"), "-w", folder];
  // The smallest memory that it takes: it touches all of it first.
  const child = spawn("kamailio", ["-DD", "-E", "-m", "16", "-M", "4", ...where], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "exit");
  const seen: string[] = [];
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stderr }).on("line", (line) => {
      const [, what] = /<script>: (.*)$/.exec(line) ?? [];
      if (what === READY) resolve();
      else if (what !== undefined) seen.push(what);
      else said.push(line);
    });
    ended.then(() => reject(new Error(`kamailio ended before it was ready: ${said.join("\n")}`)), reject);
  });
  return {
    port: rules.port,
    requests: seen,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

const MODULES = [
  "tm",
  "sl",
  "rr",
  "pv",
  "maxfwd",
  "usrloc",
  "registrar",
  "siputils",
  "textops",
  "xlog",
  "auth",
  "cfgutils",
];

function configOf({ port, password, algorithm, maxSeconds, minSeconds, appliancePort = 0 }: KamailioRules): string {
  return `#!KAMAILIO
debug=0
log_stderror=yes
children=1
tcp_children=1
dns=no
rev_dns=no
auto_aliases=no
disable_core_dump=yes
listen=udp:127.0.0.1:${port}
listen=tcp:127.0.0.1:${port}
${MODULES.map((name) => `loadmodule "${name}.so"`).join("\n")}
modparam("registrar", "max_expires", ${maxSeconds})
modparam("registrar", "min_expires", ${minSeconds})
modparam("usrloc", "db_mode", 0)
modparam("auth", "algorithm", "${algorithm}")
event_route[core:worker-one-init] {
  xlog("L_ALERT", "${READY}\\n");
}
request_route {
  if (!mf_process_maxfwd_header("10")) { sl_send_reply("483", "Too Many Hops"); exit; }
  if (is_method("CANCEL")) {
    xlog("L_ALERT", "CANCEL\\n");
    if (t_check_trans()) { t_relay(); }
    exit;
  }
  if (has_totag()) {
    if (loose_route()) {
      if (is_method("BYE") && !($fU =~ "^open")) { route(PROVE); }
      xlog("L_ALERT", "$rm by $pr\\n");
      t_relay();
      exit;
    }
    if (is_method("ACK")) {
      if (t_check_trans()) { t_relay(); }
      exit;
    }
    xlog("L_ALERT", "$rm 404\\n");
    sl_send_reply("404", "Not On Route");
    exit;
  }
  if (is_method("REGISTER")) {
    if (!($tU =~ "^open") && !pv_www_authenticate("door", "${password}", "0")) { www_challenge("door", "1"); exit; }
    if (is_present_hf("Expires") && $hdr(Expires) != "0" && $(hdr(Expires){s.int}) < ${minSeconds}) {
      append_to_reply("Min-Expires: ${minSeconds}\\r\\n");
      xlog("L_ALERT", "REGISTER 423\\n");
      sl_send_reply("423", "Interval Too Brief");
      exit;
    }
    xlog("L_ALERT", "REGISTER\\n");
    save("location");
    exit;
  }
  if (is_method("OPTIONS") && $rU == $null) { sl_send_reply("200", "OK"); exit; }
  if (is_method("INVITE")) {
    route(PROVE);
    if ($rU =~ "^twice-") {
      if (!pv_www_authenticate("inner", "${password}", "0")) { www_challenge("inner", "1"); exit; }
      consume_credentials();
      strip(6);
    }
    xlog("L_ALERT", "$rm by $pr\\n");
    record_route();
    if (${appliancePort} != 0 && $rU =~ "^[0-9][0-9][0-9]$") {
      $du = "sip:127.0.0.1:${appliancePort}";
      t_relay();
      exit;
    }
  }
  if (!lookup("location")) { sl_send_reply("404", "Not Found"); exit; }
  t_relay();
}
route[PROVE] {
  if (!pv_proxy_authenticate("way", "${password}", "0")) {
    if (is_present_hf("Proxy-Authorization")) { xlog("L_ALERT", "$rm 407\\n"); }
    proxy_challenge("way", "1");
    exit;
  }
  consume_credentials();
}
`;
}
