import { Button } from "@mantine/core";
import { useTranslation } from "../../i18n/use-translation.tsx";
import { SearchField } from "../../ui/list/search-field.tsx";
import { useTableSearch } from "../../ui/list/use-table-search.ts";
import { NEW } from "../../ui/row-sheet.tsx";
import { SectionTabs } from "../../ui/section-tabs.tsx";
import { parsePlacePath, placePathText } from "./place-levels.ts";
import { PlaceSheet } from "./place-sheet.tsx";
import { PlaceTree } from "./place-tree.tsx";
import "../../ui/list/list.css";
import "../../ui/lines.css";
import { PageTitle } from "../../ui/page-title.tsx";

/** Sites, buildings, floors with plans, and zones. */
export default function PlacesPage() {
  const { t } = useTranslation();
  const [{ q, open }, show] = useTableSearch();
  const opened = parsePlacePath(open);
  return (
    <div className="page">
      <SectionTabs of="devices" />
      <div className="head">
        <PageTitle>{t("places.title")}</PageTitle>
        <span className="space" />
        <Button onClick={() => show({ open: NEW })}>{t("places.add-site")}</Button>
      </div>
      <p className="soft">{t("places.intro")}</p>
      <div className="list-tools">
        <SearchField label={t("places.search")} value={q ?? ""} onSearch={(text) => show({ q: text })} />
      </div>
      <PlaceTree q={q ?? ""} opened={opened} onOpen={(path) => show({ open: placePathText(path) })} />
      {opened.length > 0 && <PlaceSheet key={open} path={opened} onClose={() => show({ open: undefined })} />}
    </div>
  );
}
