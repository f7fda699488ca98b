import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { systemClock } from "../lib/clock.ts";
import { CallerError } from "../lib/errors.ts";
import {
  authorityPath,
  type CertificateFacts,
  ensureAuthority,
  installCertificate,
  readCertificate,
  removeInstalledCertificate,
} from "../ops/tls/certificates.ts";
import { requireDatabase } from "../wiring/appliance-data.ts";
import { sendControlCommand } from "../wiring/control-socket.ts";
import { daemonStateOf } from "./doctor.ts";
import type { Terminal } from "./terminal.ts";

interface InstallOptions {
  data: string;
  cert: string;
  key: string;
}

/** `carillon tls show | install | remove`: the certificate of the API. */
export function addTls(program: Command, terminal: Terminal): void {
  const tls = program
    .command("tls")
    .description("Show or change the certificate of the API; a running daemon takes it up at once.")
    .addHelpText("after", "\nExample:\n  carillon tls show --data /var/lib/carillon");
  tls
    .command("show")
    .description("Say which certificate is shown, until when, and where the own authority's lies for browsers.")
    .requiredOption("--data <dir>", "the appliance's data")
    .option("--json", "print one line of JSON")
    .addHelpText("after", "\nExample:\n  carillon tls show --data /var/lib/carillon")
    .action(async ({ data, json }: { data: string; json?: true }) => {
      requireDatabase(data);
      await ensureAuthority(data, systemClock.now());
      const facts = readCertificate(data)?.facts ?? null;
      const authority = authorityPath(data);
      if (json) return terminal.out(JSON.stringify({ certificate: facts, authority }));
      printCertificate(terminal, facts);
      terminal.out(`authority    ${authority}`);
    });
  tls
    .command("install")
    .description("Use a certificate from elsewhere. Meant as the hook of an ACME client, too.")
    .requiredOption("--data <dir>", "the appliance's data")
    .requiredOption("--cert <file>", "certificate and its chain (PEM)")
    .requiredOption("--key <file>", "its private key (PEM, without a password)")
    .addHelpText(
      "after",
      "\nExample:\n  carillon tls install --data /var/lib/carillon --cert fullchain.pem --key privkey.pem\n\n" +
        "With certbot, as /etc/letsencrypt/renewal-hooks/deploy/carillon:\n" +
        '  carillon tls install --data /var/lib/carillon --cert "$RENEWED_LINEAGE/fullchain.pem" --key "$RENEWED_LINEAGE/privkey.pem"\n' +
        "Connections that are open go on; whoever connects from then on sees the new certificate.",
    )
    .action(async ({ data, cert, key }: InstallOptions) => {
      requireDatabase(data);
      const pair = { certificate: read(cert), key: read(key) };
      printCertificate(terminal, installCertificate(data, pair, systemClock.now()));
      await reloadDaemon(data, terminal);
    });
  tls
    .command("remove")
    .description("Go back to the certificate of the appliance's own authority.")
    .requiredOption("--data <dir>", "the appliance's data")
    .addHelpText("after", "\nExample:\n  carillon tls remove --data /var/lib/carillon")
    .action(async ({ data }: { data: string }) => {
      requireDatabase(data);
      removeInstalledCertificate(data);
      await reloadDaemon(data, terminal);
      printCertificate(terminal, readCertificate(data)?.facts ?? null);
    });
}

async function reloadDaemon(dataDir: string, terminal: Terminal): Promise<void> {
  await sendControlCommand(dataDir, { order: "tls.reload", args: {} });
  const daemon = await daemonStateOf(dataDir);
  if (daemon === null) return terminal.err("The daemon shows it once it runs, at tls.listen of its settings.");
  const isSecure = daemon.url.startsWith("https:");
  const off = "The running daemon speaks no TLS yet: set tls.listen in its settings and start it again.";
  terminal.err(isSecure ? "The running daemon shows it from now on." : off);
}

function printCertificate(terminal: Terminal, facts: CertificateFacts | null): void {
  if (!facts) {
    terminal.out("certificate  none yet: the daemon makes one once tls.listen is set");
    return;
  }
  terminal.out(`certificate  ${facts.subject}, ${facts.origin === "own" ? "by the own authority" : "installed"}`);
  terminal.out(`good for     ${facts.names.join(", ")}`);
  terminal.out(`until        ${new Date(facts.validTo).toISOString()}`);
  terminal.out(`fingerprint  ${facts.fingerprint}`);
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    throw new CallerError("invalid-value", `${path} can't be read.`);
  }
}
