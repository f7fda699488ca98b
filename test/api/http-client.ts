/** How a request is sent beside its method and path. */
export interface RequestOptions {
  /** Null sends none; the administrator's unless given. */
  token?: string | null;
  json?: unknown;
  form?: FormEntries;
  multipart?: FormEntries;
  body?: string | Uint8Array | ReadableStream;
  headers?: Record<string, string>;
}

/** Names and values of a form in order; a Blob is a file. */
export type FormEntries = readonly (readonly [string, string | Blob])[];

/** An answer with its body read. */
export interface ReceivedResponse {
  status: number;
  headers: Headers;
  text: string;
  // Tests look into bodies of every shape.
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  body: any;
}

/** Sends a request with a body of the kind given, and reads the answer. */
export async function sendRequest(url: string, method: string, sending: RequestOptions): Promise<ReceivedResponse> {
  const headers = new Headers(sending.headers);
  if (sending.token) headers.set("authorization", `Bearer ${sending.token}`);
  let body: RequestOptions["body"] | URLSearchParams | FormData = sending.body;
  if ("json" in sending) {
    body = JSON.stringify(sending.json);
    headers.set("content-type", "application/json");
  } else if (sending.form) {
    body = new URLSearchParams(sending.form.map(([name, value]): [string, string] => [name, value as string]));
  } else if (sending.multipart) {
    const parts = new FormData();
    for (const [name, value] of sending.multipart) parts.append(name, value as string);
    body = parts;
  }
  const init = { method, headers, body: body ?? null, ...(body instanceof ReadableStream ? { duplex: "half" } : {}) };
  const response = await fetch(url, init as RequestInit);
  const text = await response.text();
  const json = /^application\/(?:scim\+)?json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { status: response.status, headers: response.headers, text, body: json ? JSON.parse(text) : text };
}
