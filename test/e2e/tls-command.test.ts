import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { EXIT } from "../../src/lib/exit-codes.ts";
import { createCertificateAuthority, issueServerCertificate } from "../../src/ops/tls/certificate-authority.ts";
import { startTestDaemon } from "../support/daemon.ts";
import { makeTempDir } from "../support/temp-dir.ts";
import { runCommand } from "../unit/cli/run-command.ts";

it("reports where an installed certificate is served, or what is missing", async () => {
  const folder = makeTempDir();
  const [cert, key] = [join(folder, "server.crt"), join(folder, "server.key")];
  const pair = await issueServerCertificate(
    await createCertificateAuthority("Elsewhere", Date.now()),
    ["bells.example.org"],
    Date.now(),
  );
  writeFileSync(cert, pair.certificate);
  writeFileSync(key, pair.key);
  const install = async (data: string): Promise<string> => {
    const { exitCode, err } = await runCommand(["tls", "install", "--data", data, "--cert", cert, "--key", key]);
    expect(exitCode).toBe(EXIT.ok);
    return err.join();
  };
  const plain = await startTestDaemon();
  expect(await install(plain.dataDir)).toContain("set tls.listen in its settings");
  await plain.stop();
  expect(await install(plain.dataDir)).toContain("does not run");
  const settings = "tls: {listen: 127.0.0.1:0}\nnetwork: {multicastInterface: 127.0.0.1}\n";
  const secure = await startTestDaemon({ settings, after: plain });
  try {
    expect(await install(plain.dataDir)).toBe("The running daemon uses the certificate from now on.");
  } finally {
    await secure.stop();
  }
});
