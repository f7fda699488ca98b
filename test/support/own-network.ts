import { execFile } from "node:child_process";

/** Runs a TypeScript module (its text) in a network namespace of this test; gives its stdout. Needs unshare and root or user namespaces. */
export function runInOwnNetwork(module: string): Promise<string> {
  const asRoot = process.getuid?.() === 0 ? [] : ["--user", "--map-root-user"];
  const node = [
    process.execPath,
    "--disable-warning=ExperimentalWarning",
    "--input-type=module-typescript",
    "-e",
    module,
  ];
  return new Promise((resolve, reject) => {
    execFile("unshare", [...asRoot, "--net", ...node], (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message} ${stderr}`)) : resolve(stdout),
    );
  });
}
