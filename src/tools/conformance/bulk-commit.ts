import { type CheckContext, describeResponse, expectThat } from "./findings.ts";

/** Most questions after an upload that is being read. */
const MAX_POLLS = 2_000;

/** An upload in test mode gets its table, passes, and is committed: one template is made, and goes again. */
export async function checkBulkCommit(checking: CheckContext): Promise<void> {
  const { rows, target } = checking;
  const about = { operation: "post" } as const;
  const upload = await rows.create("/bulk-uploads", { resourceType: "message-templates", testMode: true });
  const name = `Conform upload ${String(upload.body?.id)}`;
  const url = String(upload.body?.url ?? "");
  const table = new Blob([`name\tsubject\n${name}\tConform\n`], { type: "text/tab-separated-values" });
  await target.request("PUT", url.slice(url.indexOf("/v1/")), table);
  const at = `/v1/bulk-uploads/${String(upload.body?.id)}`;
  const passed = await waitForUpload(checking, at);
  expectThat(checking, passed === "success", `a table in test mode ended as ${passed}`, about);
  const heard = await target.request("POST", `${at}/commit`, {});
  if (!expectThat(checking, heard.status === 200, `POST answered ${describeResponse(heard)}`, about)) return;
  const state = await waitForUpload(checking, at);
  expectThat(checking, state === "COMPLETE", `a table that was committed ended as ${state}`, about);
  const { body } = await target.request("GET", `/v1/message-templates?name=${encodeURIComponent(name)}`);
  const made = (body?.data ?? []) as { id: string }[];
  for (const { id } of made) target.trackForCleanup(`/v1/message-templates/${id}`);
  expectThat(checking, made.length === 1, `${made.length} rows were made of one line`, about);
}

async function waitForUpload({ target }: CheckContext, at: string): Promise<string> {
  let status = "";
  for (let asked = 0; asked < MAX_POLLS; asked++) {
    status = String((await target.request("GET", at)).body?.status);
    if (status !== "PENDING" && status !== "RUNNING") return status;
  }
  return status;
}
