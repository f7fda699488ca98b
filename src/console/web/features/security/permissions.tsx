import { Button, Checkbox, Select, TextInput } from "@mantine/core";
import { useState } from "react";
import type { PermissionRow } from "../../api/identity-rows.ts";
import { useRowMutation, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { DomainSelect, useDomains } from "./domain-select.tsx";
import {
  ACTIONS,
  type Permission,
  type PermissionTargets,
  permissionFor,
  permissionKey,
  permissionText,
  resourceLabel,
  VERBS,
} from "./permission-text.ts";
import "../../ui/input-styles.ts";

interface PermissionsProps {
  /** The resource whose changes are shown. */
  resource: string;
  rows: readonly PermissionRow[];
  onAdd(grant: PlacedGrant): Promise<unknown>;
  onRemove(id: string): Promise<void>;
}

/** A permission as it is given: everywhere, or within a domain alone. */
type PlacedGrant = Permission & { domainId?: string };

/** Permissions as sentences, and a picker for more. */
export function Permissions({ resource, rows, onAdd, onRemove }: PermissionsProps) {
  const translator = useTranslation();
  const schemas = useSchemas();
  const things: PermissionTargets = schemas.data?.resources ?? {};
  const sentences = rows
    .map((row) => ({ row, sentence: permissionText(row, things, translator) }))
    .sort((a, b) => a.sentence.localeCompare(b.sentence, translator.language));
  return (
    <section className="stack">
      <ErrorLine error={schemas.error} />
      <ul className="plain lined">
        {schemas.data &&
          sentences.map(({ row, sentence }) => (
            <PermissionLine key={row.id} row={row} sentence={sentence} {...{ resource, onAdd, onRemove }} />
          ))}
      </ul>
      <PermissionPicker
        things={things}
        held={new Set(rows.map((row) => placedKey(row, row.domainId)))}
        {...{ resource, onAdd }}
      />
    </section>
  );
}

interface PermissionLineProps extends Omit<PermissionsProps, "rows"> {
  row: PermissionRow;
  sentence: string;
}

function PermissionLine({ row, sentence, resource, onAdd, onRemove }: PermissionLineProps) {
  const { t } = useTranslation();
  const { notify } = useConsole();
  const back = useRowMutation<void, unknown>(resource, () => onAdd(placed(row, row.domainId)));
  const remove = useRowMutation<void, void>(resource, async () => {
    await onRemove(row.id);
    notify(t("permission.taken", { sentence }), () => back.mutate());
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
          aria-label={t("permission.take-named", { sentence })}
          onClick={() => remove.mutate()}
        >
          {t("remove")}
        </Button>
      )}
      <ErrorLine error={remove.error ?? back.error} />
    </li>
  );
}

/** The mark of a permission that does not hold everywhere. */
function DomainChip({ domainId }: { domainId: string }) {
  const { t } = useTranslation();
  const domain = useDomains().find(({ id }) => id === domainId);
  return (
    <>
      {" "}
      <Chip tone="">{domain ? t("access.in-domain", { name: domain.name }) : t("permission.hidden-domain")}</Chip>
    </>
  );
}

interface PermissionPickerProps {
  resource: string;
  things: PermissionTargets;
  /** What is there already, as `placedKey` says it. */
  held: ReadonlySet<string>;
  onAdd(grant: PlacedGrant): Promise<unknown>;
}

const BY_PATH = "path";

function PermissionPicker({ resource, things, held, onAdd }: PermissionPickerProps) {
  const translator = useTranslation();
  const { t, name, language } = translator;
  const { notify } = useConsole();
  const [subject, setSubject] = useState<string | null>(null);
  const [verbs, setVerbs] = useState<readonly string[]>(["get"]);
  const [spec, setSpec] = useState("/");
  const [domainId, setDomainId] = useState<string | null>(null);
  const wanted = wantedGrants({ subject, verbs, spec, things }).filter(
    (grant) => !held.has(placedKey(grant, domainId)),
  );
  const add = useRowMutation<void, void>(resource, async () => {
    for (const grant of wanted) await onAdd(placed(grant, domainId));
    notify(t("permission.given", { count: wanted.length }));
    setSubject(null);
  });
  const named = Object.keys(things).map((value) => ({ value, label: resourceLabel(value, name) }));
  return (
    <div className="card">
      <h3>{t("permission.add")}</h3>
      <Select
        label={t("permission.what")}
        placeholder={t("permission.choose")}
        searchable
        data={[
          { group: t("permission.acts"), items: ACTIONS.map((value) => ({ value, label: name("action", value) })) },
          { group: t("permission.things"), items: named.sort((a, b) => a.label.localeCompare(b.label, language)) },
          { group: t("permission.else"), items: [{ value: BY_PATH, label: t("permission.by-path") }] },
        ]}
        value={subject}
        onChange={setSubject}
      />
      {subject === BY_PATH && (
        <TextInput
          label={t("permission.path")}
          description={t("permission.path-hint")}
          value={spec}
          onChange={(event) => setSpec(event.currentTarget.value)}
        />
      )}
      {subject && !isAct(subject) && (
        <Checkbox.Group label={t("permission.may")} value={[...verbs]} onChange={setVerbs}>
          <div className="row">
            {VERBS.filter((verb) => subject === BY_PATH || serves(things[subject]?.methods, verb)).map((verb) => (
              <Checkbox key={verb} value={verb} label={name("permission-verb", verb)} />
            ))}
          </div>
        </Checkbox.Group>
      )}
      {subject && (
        <DomainSelect
          label={t("permission.where")}
          placeholder={t("permission.everywhere")}
          value={domainId}
          onChange={setDomainId}
        />
      )}
      {wanted.length > 0 && (
        <ul className="soft" aria-live="polite">
          {wanted.map((grant) => (
            <li key={permissionKey(grant)}>{permissionText(grant, things, translator)}</li>
          ))}
        </ul>
      )}
      {subject && wanted.length === 0 && <p className="soft">{t("permission.held")}</p>}
      <ErrorLine error={add.error} />
      <div>
        <Button disabled={wanted.length === 0} loading={add.isPending} onClick={() => add.mutate()}>
          {t("permission.add")}
        </Button>
      </div>
    </div>
  );
}

interface Wanted {
  subject: string | null;
  verbs: readonly string[];
  spec: string;
  things: PermissionTargets;
}

function wantedGrants({ subject, verbs, spec, things }: Wanted): Permission[] {
  if (!subject) return [];
  if (isAct(subject)) {
    const [verb = "", actSpec = ""] = subject.split(" ");
    return [{ verb, spec: actSpec }];
  }
  const ordered = VERBS.filter((verb) => verbs.includes(verb));
  if (subject === BY_PATH) return spec.trim().length > 1 ? ordered.map((verb) => ({ verb, spec: spec.trim() })) : [];
  const { path = "", methods } = things[subject] ?? {};
  return ordered.filter((verb) => serves(methods, verb)).map((verb) => permissionFor(verb, path));
}

function placed({ verb, spec }: Permission, domainId: string | null): PlacedGrant {
  return { verb, spec, ...(domainId ? { domainId } : {}) };
}

function placedKey(grant: Permission, domainId: string | null): string {
  return `${permissionKey(grant)} ${domainId ?? ""}`;
}

function isAct(subject: string): boolean {
  return subject.includes(" ");
}

function serves(methods: readonly string[] | undefined, verb: string): boolean {
  return methods?.includes(verb) ?? false;
}
