import { type CheckContext, describeResponse, expectThat } from "./findings.ts";

/** Maximum number of polls while an upload is processed. */
const MAX_POLLS = 2_000;

/** An upload in test mode is checked, then committed: one template is created, and deleted at the end. */
export async function checkBulkCommit(context: CheckContext): Promise<void> {
  const { rows, target } = context;
  const about = { operation: "post" } as const;
  const upload = await rows.create("/bulk-uploads", { resourceType: "message-templates", testMode: true });
  const name = `Conform upload ${String(upload.body?.id)}`;
  const url = String(upload.body?.url ?? "");
  const table = new Blob([`name\tsubject\n${name}\tConform\n`], { type: "text/tab-separated-values" });
  await target.request("PUT", url.slice(url.indexOf("/v1/")), table);
  const at = `/v1/bulk-uploads/${String(upload.body?.id)}`;
  const passed = await waitForUpload(context, at);
  expectThat(context, passed === "success", `an upload in test mode ended with ${passed}`, about);
  const response = await target.request("POST", `${at}/commit`, {});
  if (!expectThat(context, response.status === 200, `POST returned ${describeResponse(response)}`, about)) return;
  const state = await waitForUpload(context, at);
  expectThat(context, state === "COMPLETE", `a committed upload ended with ${state}`, about);
  const { body } = await target.request("GET", `/v1/message-templates?name=${encodeURIComponent(name)}`);
  const created = (body?.data ?? []) as { id: string }[];
  for (const { id } of created) target.trackForCleanup(`/v1/message-templates/${id}`);
  expectThat(context, created.length === 1, `${created.length} rows were created from one line`, about);
}

async function waitForUpload({ target }: CheckContext, at: string): Promise<string> {
  let status = "";
  for (let poll = 0; poll < MAX_POLLS; poll++) {
    status = String((await target.request("GET", at)).body?.status);
    if (status !== "PENDING" && status !== "RUNNING") return status;
  }
  return status;
}
