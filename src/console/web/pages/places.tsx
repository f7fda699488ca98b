import { Button } from "@mantine/core";
import { SearchField } from "../list/search-field.tsx";
import { useTableSearch } from "../list/use-table-search.ts";
import { NEW } from "../parts/row-sheet.tsx";
import { Tabs } from "../parts/tabs.tsx";
import { pathText, readPath } from "../places/levels.ts";
import { PlaceSheet } from "../places/place-sheet.tsx";
import { PlaceTree } from "../places/place-tree.tsx";
import { useWords } from "../words/use-words.tsx";
import "../list/list.css";
import "../parts/lines.css";

/** Where things are: sites, buildings, floors with their plans, zones. */
export default function PlacesPage() {
  const { t } = useWords();
  const [{ q, open }, show] = useTableSearch();
  const opened = readPath(open);
  return (
    <div className="page">
      <Tabs of="devices" />
      <div className="head">
        <h1>{t("places.title")}</h1>
        <span className="space" />
        <Button onClick={() => show({ open: NEW })}>{t("places.add-site")}</Button>
      </div>
      <p className="soft">{t("places.words")}</p>
      <div className="list-tools">
        <SearchField label={t("places.search")} value={q ?? ""} onSearch={(text) => show({ q: text })} />
      </div>
      <PlaceTree q={q ?? ""} opened={opened} onOpen={(path) => show({ open: pathText(path) })} />
      {opened.length > 0 && <PlaceSheet key={open} path={opened} onClose={() => show({ open: undefined })} />}
    </div>
  );
}
