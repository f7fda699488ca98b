import { Button, Checkbox, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { GrantRow } from "../../api/identity-rows.ts";
import { useChange, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useWords } from "../../i18n/use-translation.tsx";
import { FaultLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { DomainChoice, useDomains } from "./domain-select.tsx";
import { ACTS, type Grant, grantFor, grantSentence, keyOf, type Things, thingWord, VERBS } from "./permission-text.ts";
import "../../ui/input-styles.ts";

interface GrantsProps {
  /** The resource whose changes are shown. */
  resource: string;
  rows: readonly GrantRow[];
  onAdd(grant: PlacedGrant): Promise<unknown>;
  onRemove(id: string): Promise<void>;
}

/** A permission as it is given: everywhere, or within a domain alone. */
type PlacedGrant = Grant & { domainId?: string };

/** Permissions as sentences, and a picker for more. */
export function Grants({ resource, rows, onAdd, onRemove }: GrantsProps) {
  const words = useWords();
  const schemas = useSchemas();
  const things: Things = schemas.data?.resources ?? {};
  const sentences = rows
    .map((row) => ({ row, sentence: grantSentence(row, things, words) }))
    .sort((a, b) => a.sentence.localeCompare(b.sentence, words.language));
  return (
    <section className="stack">
      <FaultLine error={schemas.error} />
      <ul className="plain lined">
        {schemas.data &&
          sentences.map(({ row, sentence }) => (
            <GrantLine key={row.id} row={row} sentence={sentence} {...{ resource, onAdd, onRemove }} />
          ))}
      </ul>
      <GrantPicker
        things={things}
        held={new Set(rows.map((row) => placedKey(row, row.domainId)))}
        {...{ resource, onAdd }}
      />
    </section>
  );
}

interface GrantLineProps extends Omit<GrantsProps, "rows"> {
  row: GrantRow;
  sentence: string;
}

function GrantLine({ row, sentence, resource, onAdd, onRemove }: GrantLineProps) {
  const { t } = useWords();
  const { say } = useConsole();
  const back = useChange<void, unknown>(resource, () => onAdd(placed(row, row.domainId)));
  const remove = useChange<void, void>(resource, async () => {
    await onRemove(row.id);
    say(t("grant.taken", { sentence }), () => back.mutate());
  });
  return (
    <li className="row">
      <span className="grow">
        {sentence}
        {row.domainId && <DomainChip domainId={row.domainId} />}
        <code className="block soft">
          {row.verb} {row.spec}
        </code>
      </span>
      {row.permissions.includes("delete") && (
        <Button
          variant="default"
          size="compact-sm"
          loading={remove.isPending}
          aria-label={t("grant.take-named", { sentence })}
          onClick={() => remove.mutate()}
        >
          {t("remove")}
        </Button>
      )}
      <FaultLine error={remove.error ?? back.error} />
    </li>
  );
}

/** The mark of a permission that does not hold everywhere. */
function DomainChip({ domainId }: { domainId: string }) {
  const { t } = useWords();
  const domain = useDomains().find(({ id }) => id === domainId);
  return (
    <>
      {" "}
      <Chip tone="">{domain ? t("why.in-domain", { name: domain.name }) : t("grant.hidden-domain")}</Chip>
    </>
  );
}

interface GrantPickerProps {
  resource: string;
  things: Things;
  /** What is there already, as `placedKey` says it. */
  held: ReadonlySet<string>;
  onAdd(grant: PlacedGrant): Promise<unknown>;
}

const BY_PATH = "path";

function GrantPicker({ resource, things, held, onAdd }: GrantPickerProps) {
  const words = useWords();
  const { t, name, language } = words;
  const { say } = useConsole();
  const [subject, setSubject] = useState<string | null>(null);
  const [verbs, setVerbs] = useState<readonly string[]>(["get"]);
  const [spec, setSpec] = useState("/");
  const [domainId, setDomainId] = useState<string | null>(null);
  const wanted = wantedGrants({ subject, verbs, spec, things }).filter(
    (grant) => !held.has(placedKey(grant, domainId)),
  );
  const add = useChange<void, void>(resource, async () => {
    for (const grant of wanted) await onAdd(placed(grant, domainId));
    say(t("grant.given", { n: wanted.length }));
    setSubject(null);
  });
  const named = Object.keys(things).map((value) => ({ value, label: thingWord(value, name) }));
  return (
    <div className="card">
      <h3>{t("grant.add")}</h3>
      <Select
        label={t("grant.what")}
        placeholder={t("grant.choose")}
        searchable
        data={[
          { group: t("grant.acts"), items: ACTS.map((value) => ({ value, label: name("grant-act", value) })) },
          { group: t("grant.things"), items: named.sort((a, b) => a.label.localeCompare(b.label, language)) },
          { group: t("grant.else"), items: [{ value: BY_PATH, label: t("grant.by-path") }] },
        ]}
        value={subject}
        onChange={setSubject}
      />
      {subject === BY_PATH && (
        <TextInput
          label={t("grant.path")}
          description={t("grant.path-hint")}
          value={spec}
          onChange={(event) => setSpec(event.currentTarget.value)}
        />
      )}
      {subject && !isAct(subject) && (
        <Checkbox.Group label={t("grant.may")} value={[...verbs]} onChange={setVerbs}>
          <div className="row">
            {VERBS.filter((verb) => subject === BY_PATH || serves(things[subject]?.methods, verb)).map((verb) => (
              <Checkbox key={verb} value={verb} label={name("grant-verb", verb)} />
            ))}
          </div>
        </Checkbox.Group>
      )}
      {subject && (
        <DomainChoice
          label={t("grant.where")}
          placeholder={t("grant.everywhere")}
          value={domainId}
          onChange={setDomainId}
        />
      )}
      {wanted.length > 0 && (
        <ul className="soft" aria-live="polite">
          {wanted.map((grant) => (
            <li key={keyOf(grant)}>{grantSentence(grant, things, words)}</li>
          ))}
        </ul>
      )}
      {subject && wanted.length === 0 && <p className="soft">{t("grant.held")}</p>}
      <FaultLine error={add.error} />
      <div>
        <Button disabled={wanted.length === 0} loading={add.isPending} onClick={() => add.mutate()}>
          {t("grant.add")}
        </Button>
      </div>
    </div>
  );
}

interface Wanted {
  subject: string | null;
  verbs: readonly string[];
  spec: string;
  things: Things;
}

function wantedGrants({ subject, verbs, spec, things }: Wanted): Grant[] {
  if (!subject) return [];
  if (isAct(subject)) {
    const [verb = "", actSpec = ""] = subject.split(" ");
    return [{ verb, spec: actSpec }];
  }
  const ordered = VERBS.filter((verb) => verbs.includes(verb));
  if (subject === BY_PATH) return spec.trim().length > 1 ? ordered.map((verb) => ({ verb, spec: spec.trim() })) : [];
  const { path = "", methods } = things[subject] ?? {};
  return ordered.filter((verb) => serves(methods, verb)).map((verb) => grantFor(verb, path));
}

function placed({ verb, spec }: Grant, domainId: string | null): PlacedGrant {
  return { verb, spec, ...(domainId ? { domainId } : {}) };
}

function placedKey(grant: Grant, domainId: string | null): string {
  return `${keyOf(grant)} ${domainId ?? ""}`;
}

function isAct(subject: string): boolean {
  return subject.includes(" ");
}

function serves(methods: readonly string[] | undefined, verb: string): boolean {
  return methods?.includes(verb) ?? false;
}
