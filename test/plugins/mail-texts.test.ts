import { describe, expect, it } from "vitest";
import { parseBounce } from "../../plugins/email/bounce-report.ts";
import { automaticKind } from "../../plugins/mail-input/automatic-mail.ts";
import { htmlToPlainText, parseMail } from "../../plugins/mail-input/parsed-mail.ts";

const mail = (charset: string, octets: Buffer, encoding = "8bit", type = "text/plain"): Buffer =>
  Buffer.concat([
    Buffer.from(
      [
        "From: =?iso-8859-1?Q?J=FCrgen?= <Head@school.example.org>",
        "Subject: =?windows-1252?Q?Fire_=96_=80_5?=",
        "Message-ID: <w1@x>",
        "MIME-Version: 1.0",
        `Content-Type: ${type}; charset=${charset}`,
        `Content-Transfer-Encoding: ${encoding}`,
        "",
        "",
      ].join("\r\n"),
    ),
    octets,
  ]);

describe("texts of mails", () => {
  it.each([
    [
      "windows-1252",
      Buffer.from("52e973756d652093799420852096203530 2080".replace(/ /g, ""), "hex"),
      "Résume “y” … – 50 €",
    ],
    ["cp1252", Buffer.from([0x80, 0x9c]), "€œ"],
    ["iso-8859-1", Buffer.from([0xe4, 0xf6]), "äö"],
    ["iso-8859-15", Buffer.from([0xa4]), "€"],
    ["windows-1250", Buffer.from([0x9a, 0xb3]), "šł"],
    ["windows-1251", Buffer.from([0xcf, 0xee, 0xe6]), "Пож"],
    ["koi8-r", Buffer.from([0xf0, 0xcf]), "По"],
    ["gb2312", Buffer.from([0xbb, 0xf0]), "火"],
    ["shift_jis", Buffer.from([0x89, 0xce]), "火"],
    ["euc-kr", Buffer.from([0xba, 0xd2]), "불"],
    ["macintosh", Buffer.from([0x8a]), "ä"],
    ["utf-8", Buffer.from("🔥 ä"), "🔥 ä"],
    ["utf-16le", Buffer.from("ä", "utf16le"), "ä"],
    ["x-unknown", Buffer.from("plain"), "plain"],
  ])("are decoded from %s", async (charset, octets, expected) => {
    const encoded = Buffer.from(octets.toString("base64"));
    const read = await parseMail(mail(charset, encoded, "base64"));
    expect(read.text.trim()).toBe(expected);
    expect(read).toMatchObject({
      ...{ subject: "Fire – € 5", fromName: "Jürgen", from: ["head@school.example.org"], messageId: "<w1@x>" },
    });
    if (charset.startsWith("windows")) expect((await parseMail(mail(charset, octets))).text.trim()).toBe(expected);
  });

  it.each([
    ["<p>Leave <b>now</b> &amp;<br>wait&#33;</p>", "Leave now &\nwait!"],
    ["<p>&hellip;&rsquo;&euro;&nbsp;&#x1F525;&eacute;</p>", "…’€ 🔥é"],
    ["<ul><li>North door</li><li>South door</li></ul>", "- North door\n- South door"],
    ["<ol><li>Stop</li><li>Leave</li></ol>", "1. Stop\n2. Leave"],
    ['<div style="display:none;max-height:0">Preheader</div><p>Fire</p>', "Fire"],
    ['<span style="DISPLAY: NONE !important">x</span>Fire', "Fire"],
    ['<div style="mso-hide: all">x</div><p hidden>y</p>Fire', "Fire"],
    ['<div style="font-size:0;opacity:0;">x</div>Fire', "Fire"],
    ["<head><title>T</title><style>p{}</style></head><script>x()</script>Fire", "Fire"],
    ['<a href="https://x.example.org/track?id=1">Plan</a><img src="x" alt="logo">', "Plan"],
    ["<h1>Fire</h1><p>Leave</p><p>Now</p>", "Fire\nLeave\nNow"],
    ["<!-- <p>x</p> -->Fire<!--[if mso]>y<![endif]-->", "Fire"],
    ["a\u200b\u00adb &zwnj;&nbsp;&zwnj; c", "ab c"],
    ["<p>1 &lt; 2 <unknown>3</unknown>", "1 < 2 3"],
    ["<table><tr><td>Hall</td><td>3</td></tr><tr><td>Gym</td></tr></table>", "Hall 3\nGym"],
  ])("%s", (html, expected) => {
    expect(htmlToPlainText(html)).toBe(expected);
  });

  it("are bounded", () => {
    expect(htmlToPlainText(`${"<div>".repeat(5_000)}x`).length).toBeLessThan(5);
    expect(htmlToPlainText("<p>ab</p>".repeat(100_000)).length).toBeLessThan(300_000);
  });
});

describe("automatic mail", () => {
  const kindOf = (fields: Record<string, string>) =>
    automaticKind((name) => (fields[name] === undefined ? [] : [fields[name]]));

  it.each([
    [{ "auto-submitted": "auto-replied" }, "reply"],
    [{ "auto-submitted": "auto-generated (rejected)" }, "reply"],
    [{ "auto-submitted": "No" }, null],
    [{ "x-autoreply": "yes" }, "reply"],
    [{ "x-autorespond": "vacation" }, "reply"],
    [{ "x-autoreply": "no" }, null],
    [{ precedence: "auto_reply" }, "reply"],
    [{ precedence: "Bulk" }, "bulk"],
    [{ precedence: "junk" }, "bulk"],
    [{ precedence: "list" }, null],
    [{ subject: "Automatische Antwort: Fire" }, "reply"],
    [{ subject: "Out of Office: Fire" }, "reply"],
    [{ subject: "Réponse automatique : Fire" }, "reply"],
    [{ subject: "RE: Automatic reply: Fire" }, "reply"],
    [{ subject: "Automatic doors do not open" }, null],
    [{ subject: "Re: Fire" }, null],
  ] as [Record<string, string>, string | null][])("%o is %s", (fields, kind) => {
    expect(kindOf(fields)).toBe(kind);
  });
});

const report = (status: string, encoding = "7bit"): string =>
  [
    "From: MAILER-DAEMON@mx.example.org",
    "Subject: Delivery Status Notification",
    "Auto-Submitted: auto-replied",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="b"',
    "",
    `--b\r\nContent-Type: message/delivery-status\r\nContent-Transfer-Encoding: ${encoding}\r\n`,
    encoding === "base64" ? Buffer.from(status).toString("base64") : status,
    "--b--",
  ].join("\r\n");
const group = (action: string, status: string): string =>
  `Reporting-MTA: dns; mx\r\n\r\nFinal-Recipient: rfc822; a@example.org\r\nAction: ${action}\r\nStatus: ${status}\r\nDiagnostic-Code: smtp; ${status} no such user\r\n`;

describe("mails to a return path", () => {
  it.each([
    [
      "a failure",
      report(group("failed", "5.1.1")),
      { reason: "the mail bounced: 5.1.1 no such user", isPermanent: true },
    ],
    [
      "a failure in base64",
      report(group("Failed", "5.2.2"), "base64"),
      { reason: "the mail bounced: 5.2.2 no such user", isPermanent: false },
    ],
    [
      "one failure after a relay",
      report(
        `${group("relayed", "2.1.9")}\r\nFinal-Recipient: rfc822; b@example.org\r\nAction: failed\r\nStatus: 5.1.2\r\n`,
      ),
      { reason: "the mail bounced: 5.1.2", isPermanent: true },
    ],
    ["a delay", report(group("delayed", "4.4.1")), null],
    ["a delivery", report(group("delivered", "2.0.0")), null],
    ["an absence notice", "From: ada@example.org\r\nSubject: Away\r\nAuto-Submitted: auto-replied\r\n\r\nAway", null],
    [
      "an absence notice of a server",
      "From: postmaster@example.org\r\nSubject: Out of office\r\nX-Autoreply: yes\r\n\r\nAway",
      null,
    ],
    [
      "a marked bounce without a report",
      "From: <MAILER-DAEMON@mx>\r\nSubject: failure notice\r\nAuto-Submitted: auto-replied\r\n\r\nHi.",
      { reason: "the mail bounced: failure notice", isPermanent: false },
    ],
    [
      "a bounce with failed recipients",
      "From: x@mx\r\nX-Failed-Recipients: a@example.org\r\nSubject: Mail delivery failed\r\n\r\nHi",
      { reason: "the mail bounced: Mail delivery failed", isPermanent: false },
    ],
    [
      "a delay without a report",
      "From: MAILER-DAEMON@mx\r\nSubject: Warning: could not send message for past 4 hours\r\n\r\nx",
      null,
    ],
    ["a delayed notice", "From: postmaster@mx\r\nSubject: Delivery Status Notification (Delay)\r\n\r\nx", null],
    ["a reply of a person", "From: ada@example.org\r\nSubject: Re: Fire\r\n\r\nI am safe", null],
  ])("%s", (_, raw, expected) => {
    expect(parseBounce(raw)).toEqual(expected);
  });
});
