import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import type { Terminal } from "../lib/terminal.ts";
import type { CertificateFacts } from "../ops/tls/certificates.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { requireDatabase } from "../wiring/require-database.ts";
import { daemonStateOf } from "./doctor.ts";

interface InstallOptions {
  data: string;
  cert: string;
  key: string;
}

/** `carillon tls show | install | remove`: the TLS certificate of the API. */
export function addTls(program: Command, terminal: Terminal): void {
  const tls = program
    .command("tls")
    .description("Show or change the TLS certificate of the API; a running daemon uses a new one at once.")
    .addHelpText("after", "\nExample:\n  carillon tls show --data /var/lib/carillon");
  tls
    .command("show")
    .description("Show the certificate in use, its expiry, and the file of the appliance's own CA for browsers.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon tls show --data /var/lib/carillon")
    .action(async ({ data, json }: { data: string; json?: true }) => {
      const { authorityPath, ensureAuthority, readCertificate } = await import("../ops/tls/certificates.ts");
      requireDatabase(data);
      await ensureAuthority(data, systemClock.now());
      const facts = readCertificate(data)?.facts ?? null;
      const authority = authorityPath(data);
      if (json) return terminal.out(JSON.stringify({ certificate: facts, authority }));
      printCertificate(terminal, facts);
      terminal.out(`CA file       ${authority}`);
    });
  tls
    .command("install")
    .description("Install a certificate of another CA. Can be used as the deploy hook of an ACME client.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .requiredOption("--cert <file>", "certificate and chain (PEM)")
    .requiredOption("--key <file>", "private key (PEM, without a passphrase)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon tls install --data /var/lib/carillon --cert fullchain.pem --key privkey.pem\n\n" +
        "With certbot, as /etc/letsencrypt/renewal-hooks/deploy/carillon:\n" +
        '  carillon tls install --data /var/lib/carillon --cert "$RENEWED_LINEAGE/fullchain.pem" --key "$RENEWED_LINEAGE/privkey.pem"\n' +
        "Open connections continue; new connections use the new certificate.",
    )
    .action(async ({ data, cert, key }: InstallOptions) => {
      const { installCertificate } = await import("../ops/tls/certificates.ts");
      requireDatabase(data);
      const pair = { certificate: read(cert), key: read(key) };
      printCertificate(terminal, installCertificate(data, pair, systemClock.now()));
      await reloadDaemon(data, terminal);
    });
  tls
    .command("remove")
    .description("Return to the certificate of the appliance's own CA.")
    .requiredOption("--data <dir>", "data directory of the appliance")
    .addHelpText("after", "\nExample:\n  carillon tls remove --data /var/lib/carillon")
    .action(async ({ data }: { data: string }) => {
      const { readCertificate, removeInstalledCertificate } = await import("../ops/tls/certificates.ts");
      requireDatabase(data);
      removeInstalledCertificate(data);
      await reloadDaemon(data, terminal);
      printCertificate(terminal, readCertificate(data)?.facts ?? null);
    });
}

async function reloadDaemon(dataDir: string, terminal: Terminal): Promise<void> {
  await sendControlCommand(dataDir, { order: "tls.reload", args: {} });
  const daemon = await daemonStateOf(dataDir);
  if (daemon === null)
    return terminal.err("The daemon does not run; it will use the certificate at tls.listen of its settings.");
  const isSecure = daemon.url.startsWith("https:");
  const off = "TLS is off in the running daemon: set tls.listen in its settings and restart it.";
  terminal.err(isSecure ? "The running daemon uses the certificate from now on." : off);
}

function printCertificate(terminal: Terminal, facts: CertificateFacts | null): void {
  if (!facts) {
    terminal.out("certificate  none yet: the daemon creates one once tls.listen is set");
    return;
  }
  terminal.out(`certificate  ${facts.subject}, ${facts.origin === "own" ? "by the appliance's own CA" : "installed"}`);
  terminal.out(`names         ${facts.names.join(", ")}`);
  terminal.out(`valid until   ${new Date(facts.validTo).toISOString()}`);
  terminal.out(`fingerprint  ${facts.fingerprint}`);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new CallerError("invalid-value", `Can't read ${path}.`);
  }
}
