#include "tools/results/reuse_plan_page.h"

#include <fmt/format.h>

#include "models/schema/si.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::ContextOutlook;
using planner::MethodOutlook;
using planner::ReusePlan;

std::string rate(double bytes_per_s) {
  return figure(bytes_per_s / kGB) + " GB/s";
}

Table table(std::string title, std::vector<std::string> header, std::size_t words) {
  Table t;
  t.title = std::move(title);
  t.header = std::move(header);
  t.align.assign(t.header.size(), Align::right);
  for (std::size_t i = 0; i < words; ++i) t.align[i] = Align::left;
  return t;
}

std::string choice(const ContextOutlook& c, const std::optional<std::size_t>& which) {
  if (!which) return "none";
  const MethodOutlook& m = c.methods[*which];
  return fmt::format("{}: {}", name_of(m.method), seconds(m.ttft_s));
}

std::string without_load_heading(const ReusePlan& plan) {
  return plan.quality_floor ? "that, no common beginning" : "no common beginning";
}

Table decision_table(const ReusePlan& plan) {
  std::vector<std::string> header{"context", "fastest"};
  if (plan.quality_floor) header.push_back(fmt::format("mean score of {:.4g}", *plan.quality_floor));
  header.push_back(without_load_heading(plan));
  Table t = table("Decision", header, header.size());
  t.align.front() = Align::right;
  for (const ContextOutlook& c : plan.contexts) {
    std::vector<std::string> row{whole(c.prompt.context()), choice(c, c.fastest)};
    if (plan.quality_floor) row.push_back(choice(c, c.good));
    row.push_back(choice(c, c.without_load));
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table method_table(const ContextOutlook& c) {
  Table t = table(
      fmt::format("Time to first token: {} tokens in {} chunks, {} after them", whole(c.prompt.context()),
                  whole(c.prompt.chunks), whole(c.prompt.query)),
      {"method", "TTFT", "speedup", "loading", "scoring", "missing", "rest", "tokens", "score", "good", "bound by"}, 1);
  t.align.back() = Align::left;
  const double recompute_s = c.methods.front().ttft_s;
  const auto part = [](double s) { return s > 0 ? seconds(s) : std::string("-"); };
  for (const MethodOutlook& m : c.methods) {
    if (!m.problem.empty()) {
      t.rows.push_back({m.label, "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    t.rows.push_back(
        {m.label, seconds(m.ttft_s), factor(recompute_s / m.ttft_s), part(m.load_s), part(m.parts.select_s),
         part(m.parts.alone_s), seconds(m.parts.after_s), whole(m.parts.computed_tokens), figure(m.relative_score),
         m.good_share ? fmt::format("{:.0f} %", *m.good_share * 100) : "-", std::string(words_of(m.binding))});
  }
  return t;
}

Table break_even_table(const ContextOutlook& c) {
  Table t = table(fmt::format("Break-even, {} tokens: faster where", whole(c.prompt.context())),
                  {"method", "than", "bandwidth is", "hit rate is"}, 4);
  for (const planner::BreakEven& b : c.break_evens) {
    t.rows.push_back({std::string(name_of(b.method)), std::string(name_of(b.against)), words_of(b.bytes_per_s, rate),
                      words_of(b.hit_rate, percent)});
  }
  return t;
}

Table context_table(const ReusePlan& plan) {
  const auto chunk_tokens = static_cast<double>(plan.curve.front().prompt.chunk_tokens);
  Table t = table(fmt::format("Break-even of the context, up to {} tokens", whole(plan.curve.back().prompt.context())),
                  {"method", "than", "faster where the chunks have"}, 3);
  const auto tokens = [&](double chunks) {
    return whole(static_cast<std::int64_t>(chunks * chunk_tokens)) + " tokens";
  };
  for (const planner::ContextBreakEven& b : plan.context_break_evens) {
    t.rows.push_back({std::string(name_of(b.method)), std::string(name_of(b.against)), words_of(b.chunks, tokens)});
  }
  return t;
}

Table curve_table(const ReusePlan& plan) {
  std::vector<std::string> header{"context"};
  for (const planner::PromptMethod m : planner::prompt_methods()) {
    if (m != planner::PromptMethod::recompute) header.emplace_back(name_of(m));
  }
  Table t = table("Break-even curve: bandwidth, in GB/s, at which a method is as fast as recomputing", header, 0);
  const std::size_t points = plan.curve.size();
  for (std::size_t i = 0; i < points; i += i + 2 == points ? 1 : 2) {
    const planner::BreakEvenPoint& p = plan.curve[i];
    std::vector<std::string> row{whole(p.prompt.context())};
    for (std::size_t m = 1; m < p.bytes_per_s.size(); ++m) {
      row.push_back(p.bytes_per_s[m] ? figure(*p.bytes_per_s[m] / kGB) : "none");
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

/// How many of its answers are good, and which way of blending has more of them.
std::string better_answers(const ContextOutlook& c, const MethodOutlook& chosen) {
  std::string text = fmt::format(" ({:.0f} % of its answers good", *chosen.good_share * 100);
  const MethodOutlook* best = &chosen;
  for (const MethodOutlook& m : c.methods) {
    if (planner::blends(m.method) && m.problem.empty() && *m.good_share > *best->good_share) best = &m;
  }
  if (best != &chosen) {
    text += fmt::format("; {:.0f} % by {}, {}", *best->good_share * 100, best->label, seconds(best->ttft_s));
  }
  return text + ")";
}

std::string decision(const ContextOutlook& c, const ReusePlan& plan) {
  std::string text = fmt::format("{} tokens of chunks, {} of {} chunks stored: ", whole(c.prompt.context()),
                                 c.prompt.found(plan.hit_rate), c.prompt.chunks);
  const MethodOutlook& fastest = c.methods[*c.fastest];
  text += fmt::format("{} is fastest, {}", decision_of(fastest), seconds(fastest.ttft_s));
  if (fastest.relative_score < 1) text += fmt::format(" with {:.2f} of the score", fastest.relative_score);
  if (plan.quality_floor && c.good && c.good != c.fastest) {
    const MethodOutlook& good = c.methods[*c.good];
    text += fmt::format("; with a mean score of at least {:.4g} {}, {}", *plan.quality_floor, decision_of(good),
                        seconds(good.ttft_s));
  }
  if (c.without_load && c.without_load != (plan.quality_floor ? c.good : c.fastest)) {
    const MethodOutlook& m = c.methods[*c.without_load];
    text += fmt::format("; where no prompt begins like another {}, {}", decision_of(m), seconds(m.ttft_s));
    if (m.good_share) text += better_answers(c, m);
  }
  return text + ".";
}

std::string path_sentence(const ReusePlan& plan) {
  const planner::LoadPath& p = plan.path;
  const std::string by = p.by_storage ? fmt::format("as fast as {} is read", p.tier) : "over " + p.link;
  return fmt::format("Chunks come from {} at {} into the replica ({}), with {} of setup and latency.", p.tier,
                     rate(p.bytes_per_s), by, seconds(p.fixed_s));
}

std::vector<std::string> problems(const ReusePlan& plan) {
  std::vector<std::string> all;
  for (const ContextOutlook& c : plan.contexts) {
    for (const MethodOutlook& m : c.methods) {
      if (!m.problem.empty()) {
        all.push_back(fmt::format("{}, {} tokens: {}", name_of(m.method), whole(c.prompt.context()), m.problem));
      }
    }
  }
  return all;
}

}  // namespace

Page reuse_plan_page(const ReusePlanOutcome& o) {
  const ReusePlan& plan = o.plan;
  Page page;
  page.title = fmt::format("Plan: {}", o.scenario.name);
  for (const ContextOutlook& c : plan.contexts) page.subtitle.push_back(decision(c, plan));
  page.subtitle.push_back(path_sentence(plan));
  if (plan.contexts.size() > 1) page.tables.push_back(decision_table(plan));
  for (const ContextOutlook& c : plan.contexts) page.tables.push_back(method_table(c));
  for (const ContextOutlook& c : plan.contexts) page.tables.push_back(break_even_table(c));
  page.tables.push_back(context_table(plan));
  page.tables.push_back(curve_table(plan));
  page.lists.push_back(
      {"notes",
       {"one prompt alone on an idle replica: no queue, and nobody else on its GPUs and links; stored KV is whole",
        "TTFT = max(loading, scoring, missing) + rest: positions, the tokens computed over the whole prompt, the "
        "first token",
        "load: as much of the prompt as is stored is its beginning, exact; blending finds chunks wherever they stand",
        "tokens: of chunks, computed over the whole prompt; score: mean over the tasks, of that with all of "
        "the prompt computed; good: share of answers that reach slo.quality_floor, each by itself, as goodput counts "
        "them (a mean at the floor leaves half of them below)",
        "bandwidth: into the whole replica, by the narrowest part of the way; setup and latency stay. Hit rates: whole "
        "chunks found of the prompt's",
        "bound by: what most of the time to the first token goes to, of what cannot be hidden"}});
  page.lists.push_back({"without figures", problems(plan)});
  page.lists.push_back({"assumptions", plan_assumptions(o.scenario)});
  page.lists.push_back({"fall-backs", plan.fallbacks});
  return page;
}

}  // namespace kvsim::results
