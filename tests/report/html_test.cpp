// The page: nothing in a result gets out of its text, nothing is asked of the network, every link arrives.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/report/documents.h"
#include "tests/report/page.h"
#include "tests/report/sha256.h"
#include "tests/support/hostile.h"
#include "tools/plot/svg.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

/// A report in which a name stands wherever a result's text may get to.
Page report_with(const std::string& name) {
  const Table table = page::table(name, {{name}, {name, true}}, {{{name}, {name, 1.0, true}}});
  plot::Chart chart;
  chart.title = chart.description = chart.x_title = chart.y_title = name;
  chart.series = {{name, {{0, 1}, {1, 2}}, {}, {name, name}}, {name, {{0, 1}, {1, 2}}}};
  plot::HeatMap map;
  map.x_labels = map.y_labels = {name};
  map.rows = {{{1.0, name, name}}};
  Page r;
  r.title = name;
  r.subtitle = {name};
  Section s{"decision", name, {}};
  s.blocks.emplace_back(Facts{{{name, name, name, "decision"}}});
  s.blocks.emplace_back(Prose{name});
  s.blocks.emplace_back(table);
  s.blocks.emplace_back(Plot{"a", name, name, chart, {name, name}, table});
  s.blocks.emplace_back(Plot{"b", name, name, map, {}, table});
  s.blocks.emplace_back(
      Plot{"c", name, name, plot::Bars{name, name, name, {{name, {{0, 1, 0, name}}, name}}}, {}, table});
  s.blocks.emplace_back(List{name, {name}});
  s.blocks.emplace_back(Verbatim{name, name});
  r.sections.push_back(std::move(s));
  return r;
}

TEST(ReportPage, NamesStayTextWhateverTheyAre) {
  const std::string harmless = to_html(report_with("harmless"));
  ASSERT_EQ(page_fault(harmless), "");
  for (const std::string& name : testing::hostile_names()) {
    const std::string html = to_html(report_with(name));
    const std::string shown = name.substr(0, 50);
    EXPECT_EQ(page_fault(html), "") << shown;
    for (const char* tag : {"<script", "<style", "<img", "<pre", "<title", "<!--"}) {
      EXPECT_EQ(count(html, tag), count(harmless, tag)) << shown;
    }
    EXPECT_EQ(values_of(html, "onmouseover").size() + values_of(html, "onerror").size(), 0) << shown;
    EXPECT_NE(html.find("<p>" + plot::xml_escaped(name) + "</p>"), std::string::npos) << shown;
    EXPECT_NE(html.find("<h1>" + plot::xml_escaped(name) + "</h1>"), std::string::npos) << shown;
  }
}

TEST(ReportPage, TablesAndListsOfResultsAreAPageToo) {
  Page p;
  p.title = "run";
  p.tables = {page::key_figures("Requests"), page::with_columns("Links", {"", "busy"})};
  p.tables[0].rows = {{"completed", "12", "in time"}};
  p.tables[1].rows = {{"pcie", {"40 %", 0.4}}};
  p.tables[1].rows[0][1].mark = '*';
  p.lists = {{"Notes", {"one"}}, {"none", {}}};
  const std::string html = to_html(p);
  EXPECT_EQ(page_fault(html), "");
  EXPECT_EQ(count(html, "<thead>"), 1);  // rows of key figures speak for themselves
  EXPECT_NE(html.find("<td class=\"n\" data-v=\"0.4\">40 %*</td>"), std::string::npos) << html;
  EXPECT_NE(html.find("<h3>Notes</h3>\n<ul>\n<li>one</li>"), std::string::npos);
  EXPECT_EQ(html.find("<h3>none</h3>"), std::string::npos);
}

TEST(ReportPage, EmptyTablesAndListsAreLeftOutOfSections) {
  Section s{"s", "Section", {}};
  s.add(table("nothing", {{"a"}}));
  s.add(List{"nothing", {}});
  EXPECT_TRUE(s.blocks.empty());
  s.add(table("one", {{"a"}}, {{"x"}}));
  EXPECT_EQ(s.blocks.size(), 1);
}

TEST(ReportPage, NamesInResultsStayTextToo) {
  for (const std::string& name : testing::hostile_names()) {
    Json run = one_of_each()[0];
    run["scenario"] = run["details"]["policies"]["asked"] = run["kvsim_version"] = name;
    run["details"]["assumptions"] = {name};
    run["details"]["resolved_scenario"] = name;
    run["details"]["confidence_method"] = name;
    Json sources = Json::array({{{"figure", name}, {"value", name}, {"source", name}, {"reference", name}}});
    run["details"]["sources"] = std::move(sources);
    run["timeline"]["links"] = {{name, {0.5, 0.5}}};
    Json compare = compare_document({run_document(), run});
    compare["left_out"] = Json::array({{{"policy", name}, {"reason", name}}});
    Json plan = simulated_plan();
    plan["model"] = name;
    plan["explanation"] = explanation({{name, 0.1, 0.01}});
    plan["explanation"]["binding"] = {{"resource", name}, {"sentence", name}};
    Json fleet = fleet_document();
    fleet["configurations"][0]["machine"] = name;
    Json sweep = sweep_document(1, 2);
    sweep["axes"][0]["values"] = {name};
    for (Json& point : sweep["points"]) point["set"]["decode.draft_length"] = name;
    const Json other = {{"schema_version", 1}, {"scenario", name}, {name, Json::array({{{name, name}}})}};
    const std::string html = to_html(report_of({run, compare, plan, fleet, sweep, other}));
    EXPECT_EQ(page_fault(html), "") << name.substr(0, 50);
    EXPECT_EQ(count(html, "<script"), 1) << name.substr(0, 50);
    EXPECT_EQ(count(html, "<img"), 0) << name.substr(0, 50);
  }
}

TEST(Sha256, IsThatOfTheStandard) {
  // "abc": ba7816bf 8f01cfea 414140de 5dae2223 b00361a3 96177a9c b410ff61 f20015ad
  EXPECT_EQ(sha256_base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
  EXPECT_EQ(sha256_base64(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

TEST(ReportPage, ItsPolicyAllowsItsOwnStyleAndScriptAlone) {
  const std::string html = to_html(report_of(one_of_each()));
  const std::string style = between(html, "<style>", "</style>"), script = between(html, "<script>", "</script>");
  ASSERT_GT(style.size(), 100);
  ASSERT_GT(script.size(), 100);
  EXPECT_EQ(between(html, "Content-Security-Policy\" content=\"", "\""),
            "default-src 'none'; style-src 'sha256-" + sha256_base64(style) + "'; script-src 'sha256-" +
                sha256_base64(script) + "'; base-uri 'none'; form-action 'none'");
  EXPECT_TRUE(values_of(html, "style").empty());                        // the policy would not let it through
  EXPECT_EQ(count(html.substr(0, html.find("<script>")), "\" on"), 0);  // no handlers of events either
}

TEST(ReportPage, NeedsNothingFromElsewhere) {
  const std::string html = to_html(report_of(one_of_each()));
  for (const char* what : {"http:", "https:", "url(", "@import", "fetch(", "XMLHttpRequest", "import("}) {
    EXPECT_EQ(html.find(what), std::string::npos) << what;
  }
  EXPECT_TRUE(values_of(html, "src").empty());
  EXPECT_EQ(count(html, "<link"), 0);
}

TEST(ReportPage, IdsAreUniqueAndEveryLinkArrives) {
  std::vector<std::vector<Json>> reports{one_of_each(), {{{"schema_version", 1}}}};
  for (const Json& d : one_of_each()) reports.push_back({d});        // each alone: sections are missing
  for (const Json& d : one_of_each()) reports.push_back({d, d, d});  // the same thrice
  for (const std::vector<Json>& documents : reports) {
    const std::string html = to_html(report_of(documents));
    const std::vector<std::string> ids = values_of(html, "id");
    const std::set<std::string> known(ids.begin(), ids.end());
    EXPECT_EQ(known.size(), ids.size());
    for (const std::string& link : values_of(html, "href")) {
      EXPECT_TRUE(link.starts_with("#") && known.contains(link.substr(1))) << link;
    }
    for (const std::string& names : values_of(html, "aria-labelledby")) {
      for (std::size_t at = 0; at < names.size();) {
        const std::size_t end = std::min(names.find(' ', at), names.size());
        EXPECT_TRUE(known.contains(names.substr(at, end - at))) << names;
        at = end + 1;
      }
    }
  }
}

TEST(ReportPage, ASweepOfTwoRatesHasIdsOfItsOwnToo) {
  Json d = sweep_document(2, 2);
  const std::vector<std::string> paths{"workload.a.arrivals.rate", "workload.b.arrivals.rate"};
  d["axes"] = Json::array({{{"path", paths[0]}, {"values", {1, 2}}}, {{"path", paths[1]}, {"values", {3, 4}}}});
  for (std::size_t i = 0; i < 4; ++i) d["points"][i]["set"] = {{paths[0], 1 + i / 2}, {paths[1], 3 + i % 2}};
  const std::vector<std::string> ids = values_of(to_html(report_of({d})), "id");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

TEST(ReportPage, EveryPlotHasItsDataAsATable) {
  const std::string html = to_html(report_of(one_of_each()));
  const std::vector<std::string> figures = all_between(html, "<figure ", "</figure>");
  EXPECT_GT(figures.size(), 10);
  for (const std::string& figure : figures) {
    EXPECT_NE(figure.find("<summary>Data of this plot</summary>"), std::string::npos);
    EXPECT_EQ(count(figure, "<svg viewBox"), 1);
  }
  EXPECT_GE(count(html, "<table>"), figures.size());
  for (const std::string& table : all_between(html, "<table>", "</table>")) {
    const std::size_t columns = count(table, "<th scope=\"col\"");
    for (const std::string& row : all_between(between(table, "<tbody>", "</tbody>"), "<tr", "</tr>")) {
      EXPECT_EQ(count(row, "<td") + count(row, "<th"), columns) << row;
    }
  }
}

TEST(ReportPage, HeatMapsSayTheirLeastAndTheirMost) {
  const std::string ramp = between(to_html(report_of({plan_document()})), "<ul class=\"legend ramp\"", "</ul>");
  EXPECT_NE(ramp.find("<li class=\"end\">150.0</li>"), std::string::npos) << ramp;
  EXPECT_NE(ramp.find("<li class=\"end\">250.0</li>"), std::string::npos) << ramp;
}

TEST(ReportPage, AnOpenQuestionLooksOpen) {
  const std::string html = to_html(report_of({fleet_document()}));
  EXPECT_NE(html.find("<div class=\"open\"><dt>Which policy?</dt><dd><p class=\"answer\">not asked yet</p>"),
            std::string::npos);
}

TEST(ReportPage, OfSeveralScenariosEveryAnswerSaysWhoseItIs) {
  Json other = compare_document({run_document()});
  other["scenario"] = "another";
  const std::string html = to_html(report_of({compare_document({run_document()}), other}));
  EXPECT_NE(html.find("<p class=\"soft of\">by hand</p>"), std::string::npos);
  EXPECT_NE(html.find("<p class=\"soft of\">another</p>"), std::string::npos);
  EXPECT_EQ(to_html(report_of({other})).find("soft of"), std::string::npos);
}

TEST(ReportPage, EqualResultsGiveEqualBytes) {
  EXPECT_EQ(to_html(report_of(one_of_each())), to_html(report_of(one_of_each())));
}

TEST(ReportPage, ItsTitleIsTheFirstScenarioAndTheOthersStandBelow) {
  Json other = run_document();
  other["scenario"] = "another";
  EXPECT_EQ(report_of({run_document()}).title, "by hand");
  EXPECT_EQ(report_of({run_document(), other}).title, "by hand");
  EXPECT_EQ(report_of({run_document(), other}).subtitle.front(), "And: another");
  EXPECT_EQ(report_of({{{"schema_version", 1}}}).title, "kvsim results");
}

TEST(ReportPage, ASweepOfTwoHundredPointsIsASmallPage) {
  const std::string html = to_html(report_of({sweep_document(20, 10)}));
  EXPECT_EQ(page_fault(html), "");
  EXPECT_EQ(count(html, "mark cell hit"), 200);
  EXPECT_LT(html.size(), 2'000'000);
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
