import { Button, Select } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { ROUTES, type RouteFor } from "../../api/routes.ts";
import type { UserRow } from "../../api/rows.ts";
import type { AccessAnswer, DecidingPermission, DomainRow } from "../../api/security-rows.ts";
import { useRow, useRowMutation, useSchemas } from "../../api/use-rows.ts";
import { useConsole } from "../../console-context.tsx";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { ErrorLine } from "../../ui/error-line.tsx";
import { RowSelect } from "../../ui/form/row-select.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { SentenceText } from "../../ui/sentence-text.tsx";
import { Chip } from "../../ui/status-chip.tsx";
import { type AccessQuestion, accessQuestionOf, resourcesToCheck, verbsOf } from "./access-question.ts";
import { DomainSelect } from "./domain-select.tsx";
import { ACTIONS, type PermissionTargets, permissionText, resourceLabel } from "./permission-text.ts";
import "../../ui/input-styles.ts";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** Explains whether and why a user may do something, and how to change it; the question is in the address. */
export default function AccessCheckPage() {
  const { t } = useTranslation();
  const schemas = useSchemas();
  const [search] = useTableSearch();
  const things: PermissionTargets = schemas.data?.resources ?? {};
  const { user, thing, verb = "get", open = null } = search;
  const question = thing ? accessQuestionOf({ subject: thing, verb, row: open }, things) : null;
  const isComplete = question !== null && (!question.needsRow || open !== null);
  return (
    <div className="page">
      <SectionTabs of="people" />
      <PageTitle>{t("access.title")}</PageTitle>
      <p className="soft">{t("access.intro")}</p>
      <ErrorLine error={schemas.error} />
      {schemas.data && <Asking things={things} question={question} />}
      <section className="card" aria-live="polite" aria-label={t("access.answer")}>
        {user && question && isComplete ? (
          <Answer key={`${user} ${question.verb} ${question.path}`} userId={user} question={question} things={things} />
        ) : (
          <p className="soft">{t("access.ask")}</p>
        )}
      </section>
    </div>
  );
}

function Asking({ things, question }: { things: PermissionTargets; question: AccessQuestion | null }) {
  const { t, name, language } = useTranslation();
  const [{ user, thing, verb, domain }, show] = useTableSearch();
  const named = resourcesToCheck(things).map((value) => ({ value, label: resourceLabel(value, name) }));
  const deeds = thing ? verbsOf(thing, things) : [];
  return (
    <section className="card">
      <div className="grid">
        <RowSelect
          label={t("access.who")}
          placeholder={t("access.choose-who")}
          route="users"
          value={user ?? null}
          onChange={(id) => show({ user: id ?? undefined })}
        />
        <Select
          label={t("access.what")}
          placeholder={t("access.choose-what")}
          searchable
          data={[
            { group: t("permission.acts"), items: ACTIONS.map((value) => ({ value, label: name("action", value) })) },
            { group: t("permission.things"), items: named.sort((a, b) => a.label.localeCompare(b.label, language)) },
          ]}
          value={thing ?? null}
          onChange={(value) => show({ thing: value ?? undefined, open: undefined })}
        />
        {deeds.length > 0 && (
          <Select
            label={t("access.deed")}
            allowDeselect={false}
            data={deeds.map((value) => ({ value, label: name("permission-verb", value) }))}
            value={verb ?? "get"}
            onChange={(value) => show({ verb: value ?? undefined, open: undefined })}
          />
        )}
        {question?.family && question.family in ROUTES && (
          <WhichOne family={question.family as RouteFor<"get">} needed={question.needsRow} />
        )}
        <DomainSelect
          label={t("access.where")}
          placeholder={t("access.anywhere")}
          value={domain ?? null}
          onChange={(id) => show({ domain: id ?? undefined })}
        />
      </div>
    </section>
  );
}

function WhichOne({ family, needed }: { family: RouteFor<"get">; needed: boolean }) {
  const { t } = useTranslation();
  const [{ open }, show] = useTableSearch();
  return (
    <RowSelect
      label={t("access.which")}
      placeholder={needed ? t("access.choose-one") : t("access.all-of-them")}
      route={family}
      value={open ?? null}
      onChange={(id) => show({ open: id ?? undefined })}
    />
  );
}

interface AnswerProps {
  userId: string;
  question: AccessQuestion;
  things: PermissionTargets;
}

function Answer({ userId, question, things }: AnswerProps) {
  const translator = useTranslation();
  const { t } = translator;
  const [{ domain: domainId }] = useTableSearch();
  const user = useRow<UserRow>("users/{userId}", { userId });
  const { verb, path, grant } = question;
  const answer = useRow<AccessAnswer>("permission-explanations", {}, { userId, verb, path, domainId });
  const told = answer.data;
  if (!told || !user.data) return <ErrorLine error={answer.error ?? user.error} />;
  const who = user.data.name;
  const sentence = permissionText(grant, things, translator);
  return (
    <div className="stack">
      <div className="row">
        <Chip tone={told.granted ? "good" : "bad"}>{t(told.granted ? "access.yes" : "access.no")}</Chip>
        <strong>{t(told.granted ? "access.yes-text" : "access.no-text", { who, sentence })}</strong>
      </div>
      {told.grants.length > 0 && (
        <>
          <h2>{t("access.by")}</h2>
          <ul className="plain lined">
            {told.grants.map((each) => (
              <Decider key={`${each.from} ${each.permissionId} ${each.spec}`} grant={each} things={things} />
            ))}
          </ul>
        </>
      )}
      {told.missing.length > 0 && (
        <>
          <h2>{t("access.missing")}</h2>
          <ul>
            {told.missingSentences.map((each) => (
              <li key={each.text}>
                <SentenceText text={each.text} sentence={each} />
              </li>
            ))}
          </ul>
        </>
      )}
      <div className="row">
        <Link to="/people" search={{ open: userId }}>
          {t("access.open-person", { who })}
        </Link>
      </div>
      {!told.granted && <Giving user={user.data} grant={grant} sentence={sentence} domainId={domainId ?? null} />}
    </div>
  );
}

/** One permission that decides, with the way to where it is given. */
function Decider({ grant, things }: { grant: DecidingPermission; things: PermissionTargets }) {
  const translator = useTranslation();
  const { t } = translator;
  const { from, securityGroupId, securityGroupName, domainId } = grant;
  const domain = useRow<DomainRow>(
    "domains/{domainId}",
    { domainId: domainId ?? "" },
    {},
    { enabled: domainId !== null },
  );
  const name = securityGroupName ?? t("access.hidden");
  const sentence = grant.verb === "*" ? "" : permissionText(grant, things, translator);
  const text = {
    implicit: () => t("access.implicit"),
    "super-group": () => t("access.super", { name }),
    group: () => t("access.group", { name, sentence }),
    own: () => t("access.own", { sentence }),
  }[from]();
  return (
    <li className="row">
      <span className="grow">
        {text}
        {domain.data && ` (${t("access.in-domain", { name: domain.data.name })})`}
      </span>
      {securityGroupId && (
        <Link to="/security-groups" search={{ open: securityGroupId }}>
          {t("access.open-group", { name })}
        </Link>
      )}
    </li>
  );
}

interface GivingProps {
  user: UserRow;
  grant: { verb: string; spec: string };
  sentence: string;
  domainId: string | null;
}

/** Gives what is missing: to the person alone, or to one of its groups. */
function Giving({ user, grant, sentence, domainId }: GivingProps) {
  const { t } = useTranslation();
  const { client, notify } = useConsole();
  const [group, setGroup] = useState<string | null>(null);
  const body = { ...grant, ...(domainId ? { domainId } : {}) };
  const give = useRowMutation("users", async (securityGroupId: string | null) => {
    if (securityGroupId) await client.post("security-groups/{securityGroupId}/permissions", { securityGroupId }, body);
    else await client.post("users/{userId}/user-permissions", { userId: user.id }, body);
    notify(t("access.given", { sentence }));
  });
  return (
    <div className="stack">
      <div>
        <Button variant="default" loading={give.isPending} onClick={() => give.mutate(null)}>
          {t("access.give", { who: user.name })}
        </Button>
      </div>
      {user.securityGroups.length > 0 && (
        <div className="row end">
          <Select
            label={t("access.give-group")}
            placeholder={t("security.choose")}
            data={user.securityGroups.map(({ id, name }) => ({ value: id, label: name }))}
            value={group}
            onChange={setGroup}
            flex="1 1 14rem"
          />
          <Button
            variant="default"
            disabled={!group}
            loading={give.isPending}
            onClick={() => group && give.mutate(group)}
          >
            {t("add")}
          </Button>
        </div>
      )}
      <ErrorLine error={give.error} />
    </div>
  );
}
