/** When the alerts were sent. */
export const SENT = "2026-01-12T07:55:00-00:00";

/** An alert; `of` says what matters to the test. */
export function alertXml(of: Partial<Record<string, string>> = {}): string {
  const usual = { identifier: "A1", msgType: "Alert", status: "Actual", event: "Tornado", area: "", more: "" };
  const references = of.references ? `<cap:references>${of.references}</cap:references>` : "";
  const late = { severity: "Extreme", expires: "2026-01-12T09:30:00-00:00" };
  const said = { ...usual, ...late, ...of };
  return `<?xml version="1.0"?>
<cap:alert xmlns:cap="urn:oasis:names:tc:emergency:cap:1.2"><cap:identifier>${said.identifier}</cap:identifier>
<cap:sender>w@example.gov</cap:sender><cap:sent>${of.sent ?? SENT}</cap:sent><cap:status>${said.status}</cap:status>
<cap:msgType>${said.msgType}</cap:msgType><cap:scope>Public</cap:scope>${references}
<cap:info><cap:language>de-DE</cap:language><cap:event>Wirbelsturm</cap:event></cap:info>
<cap:info><cap:language>en-US</cap:language><cap:category>Met</cap:category><cap:event>${said.event}</cap:event>
<cap:urgency>Immediate</cap:urgency><cap:severity>${said.severity}</cap:severity>
<cap:certainty>Observed</cap:certainty><cap:expires>${said.expires}</cap:expires>
<cap:headline>Take &lt;shelter&gt; &amp; wait</cap:headline>
<cap:area><cap:areaDesc>Town</cap:areaDesc>${said.area}</cap:area></cap:info>${said.more}</cap:alert>`;
}

/** An Atom feed with these links. */
export function atomXml(...links: string[]): string {
  const entries = links.map(
    (href) => `<entry><id>${href}</id><updated>2026-01-12T08:00:00Z</updated><link href="${href}"/></entry>`,
  );
  return `<feed xmlns="http://www.w3.org/2005/Atom">${entries.join("")}</feed>`;
}
