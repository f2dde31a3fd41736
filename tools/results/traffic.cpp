#include "tools/results/traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "models/schema/units.h"
#include "models/schema/yaml.h"
#include "tools/plot/chart.h"
#include "tools/results/documents.h"
#include "tools/text/visible.h"

namespace kvsim::results {
namespace {

namespace traffic = planner::traffic;
using models::Distribution;
using traffic::Estimate;
using traffic::LengthFit;

Fields<Estimate> estimate_fields(Unit unit) {
  return {{"value", {unit, "as fitted"}, &Estimate::value},
          {"low", {unit, "lower end of the 99 % interval"}, &Estimate::low},
          {"high", {unit, "upper end of the 99 % interval"}, &Estimate::high}};
}

template <class Row, class Get>
Field<Row> estimate(const char* name, const char* says, Unit unit, Get get) {
  return Field<Row>::part(name, says, get, estimate_fields(unit));
}

const Fields<traffic::ArrivalFit>& arrival_fit_fields() {
  using Fit = traffic::ArrivalFit;
  static const Fields<Fit> fields{
      {"process", {kText, "law of the gaps"}, [](const Fit& f) { return word(f.law.kind); }},
      estimate<Fit>("rate_per_s", "mean rate", kRequestsPerS, &Fit::rate_per_s),
      estimate<Fit>("gap_cv", "standard deviation / mean of the gaps", kPlain, &Fit::cv),
      {"distance", {kPlain, "largest distance between shares of the gaps and of the law"}, &Fit::distance}};
  return fields;
}

const Fields<LengthFit>& length_fit_fields() {
  static const Fields<LengthFit> fields{
      {"distribution",
       {kText, "law of the lengths; empirical: values that are equally likely"},
       [](const LengthFit& f) { return word(f.law.distribution); }},
      estimate<LengthFit>("mean", "mean of the law, before bounds, or of the trace where values stand for a law",
                          kTokens, [](const LengthFit& f) { return f.parameters.mean; }),
      estimate<LengthFit>("cv", "standard deviation / mean, of the same", kPlain,
                          [](const LengthFit& f) { return f.parameters.cv; }),
      {"distance", {kPlain, "largest distance between shares of the lengths and of the law"}, &LengthFit::distance},
      {"nearest_law_distance?",
       {kPlain, "of values: the distance of the law that comes nearest, which was not near enough"},
       [](const LengthFit& f) {
         return f.law.distribution == Distribution::empirical ? std::optional(f.nearest_law) : std::nullopt;
       }}};
  return fields;
}

const Fields<traffic::RateWindow>& window_fields() {
  using Window = traffic::RateWindow;
  static const Fields<Window> fields{{"from_s", {kSeconds, "since the first arrival"}, &Window::from_s},
                                     {"until_s", {kSeconds, "since the first arrival"}, &Window::until_s},
                                     {"rate_per_s", {kRequestsPerS, "mean rate meanwhile"}, &Window::rate_per_s}};
  return fields;
}

const Fields<traffic::RateOverTime>& rate_fields() {
  using Rate = traffic::RateOverTime;
  static const Fields<Rate> fields{
      Field<Rate>::list("windows", "parts of the trace's time, equally long", &Rate::windows, window_fields()),
      {"dispersion",
       {kPlain, "variance of arrivals in a window, over that of independent gaps of the same cv; 1: a constant rate"},
       &Rate::dispersion},
      {"beyond_chance", {kTruth, "whether chance would make it so with less than 1 in 1,000"}, &Rate::beyond_chance}};
  return fields;
}

/// In seconds.
std::optional<Estimate> mean_s(const std::optional<traffic::Moments>& ns) {
  if (!ns) return std::nullopt;
  const Estimate& e = ns->mean;
  return Estimate{e.value / kNsPerSecond, e.low / kNsPerSecond, e.high / kNsPerSecond};
}

std::optional<Estimate> cv_of(const std::optional<traffic::Moments>& of) {
  return of ? std::optional(of->cv) : std::nullopt;
}

const Fields<traffic::SessionFit>& session_fit_fields() {
  using Fit = traffic::SessionFit;
  static const Fields<Fit> fields{
      {"count", {kCount, "different sessions"}, &Fit::sessions},
      {"followed",
       {kCount, "sessions that all other figures are of: all, or where they have more than 65,536 turns some"},
       &Fit::followed},
      estimate<Fit>("turns", "mean requests of a session", kRequests, [](const Fit& f) { return f.turns.mean; }),
      estimate<Fit>("turns_cv", "standard deviation / mean of them", kPlain, [](const Fit& f) { return f.turns.cv; }),
      estimate<Fit>("first_prompt", "mean prompt of a first turn", kTokens,
                    [](const Fit& f) { return f.first_prompt.mean; }),
      estimate<Fit>("growth?",
                    "mean tokens of a further turn beyond prompt and answer before; shortened ones count as 0", kTokens,
                    [](const Fit& f) { return f.growth ? std::optional(f.growth->mean) : std::nullopt; }),
      {"shortened", {kShare, "share of further turns whose prompts are shorter than that"}, &Fit::shortened},
      estimate<Fit>("think_s?", "mean time from the end of a turn to the next, where ends are recorded", kSeconds,
                    [](const Fit& f) { return mean_s(f.think_ns); }),
      estimate<Fit>("think_cv?", "standard deviation / mean of it", kPlain,
                    [](const Fit& f) { return cv_of(f.think_ns); }),
      estimate<Fit>("turn_gap_s?", "mean time from the arrival of a turn to that of the next", kSeconds,
                    [](const Fit& f) { return mean_s(f.turn_gap_ns); })};
  return fields;
}

/// `text` broken after commas so that lines have room for 100 columns, the further ones indented.
std::string wrapped(const std::string& text, const std::string& indent) {
  constexpr std::size_t kWidth = 100;
  std::string out;
  std::size_t begin = 0;
  while (text.size() - begin > kWidth) {
    const std::size_t at = text.rfind(", ", begin + kWidth);
    if (at == std::string::npos || at <= begin) break;
    out += text.substr(begin, at + 1 - begin) + "\n" + indent;
    begin = at + 2;
  }
  return out + text.substr(begin);
}

std::string fragment_text(const FitOutcome& o) {
  std::string text = "workload:\n";
  const schema::ConfigNode fragment = workload_fragment(o);
  for (const auto& entry : fragment.find("workload")->entries()) {
    text += wrapped("  " + entry.key + ": " + schema::to_flow_yaml(entry.value), "    ") + "\n";
  }
  return text;
}

const Fields<FitOutcome>& prefix_fit_fields() {
  static const Fields<FitOutcome> fields{
      {"count", {kCount, "different prefixes of the law"}, [](const FitOutcome& o) { return o.prefixes->law.count; }},
      {"popularity", {kPlain, "its Zipf exponent"}, [](const FitOutcome& o) { return o.prefixes->law.popularity; }},
      {"token_reuse",
       {kShare, "share of prompt tokens that an earlier request of the trace had"},
       [](const FitOutcome& o) { return o.prefixes->token_reuse; }},
      Field<FitOutcome>::part(
          "law_token_reuse",
          "the same of as many requests of the law: median, least and most of 199 draws of which prefixes are long",
          [](const FitOutcome& o) { return o.prefixes->law_token_reuse; }, estimate_fields(kShare)),
      estimate<FitOutcome>("law_prompt_mean", "mean of whole prompts of the law, over the same", kTokens,
                           [](const FitOutcome& o) { return o.prefixes->law_prompt_mean; }),
      estimate<FitOutcome>("law_prompt_cv", "standard deviation / mean of them", kPlain,
                           [](const FitOutcome& o) { return o.prefixes->law_prompt_cv; }),
      {"in_fragment",
       {kTruth, "whether the fragment has them: they reuse about what the trace does"},
       &FitOutcome::with_prefixes}};
  return fields;
}

const Fields<FitOutcome>& fit_fields() {
  static const Fields<FitOutcome> fields{
      {"format", {kText, "format of the trace's file"}, &FitOutcome::format},
      {"requests", {kRequests, "requests of the trace"}, &FitOutcome::requests},
      {"kept",
       {kRequests,
        "requests that laws of lengths and gaps are fitted to: all, or of more than 262,144 some, in runs of 1,024"},
       &FitOutcome::kept},
      Field<FitOutcome>::part("arrivals?", "law of arrivals; left out where all come at once", &FitOutcome::arrivals,
                              arrival_fit_fields()),
      Field<FitOutcome>::part("rate_over_time", "whether the rate changes", &FitOutcome::rate, rate_fields()),
      {"gap_correlation",
       {kPlain, "correlation of each gap with the next; 0 in every law"},
       &FitOutcome::gap_correlation},
      Field<FitOutcome>::part("prompt_tokens", "law of whole prompts", &FitOutcome::prompt, length_fit_fields()),
      Field<FitOutcome>::part("output_tokens", "law of outputs", &FitOutcome::output, length_fit_fields()),
      {"length_correlation",
       {kPlain, "Spearman's correlation of prompt and output; 0 in every law"},
       &FitOutcome::length_correlation},
      Field<FitOutcome>::part(
          "prefixes?", "law of shared prefixes; left out where no two prompts begin alike",
          [](const FitOutcome& o) { return o.prefixes ? &o : nullptr; }, prefix_fit_fields()),
      Field<FitOutcome>::part("sessions?", "sessions, of a trace that tells them apart", &FitOutcome::sessions,
                              session_fit_fields()),
      {"conversations",
       {kTruth,
        "whether the trace names no sessions, but prompts go on from earlier ones: with --sessions they are "
        "those of sessions"},
       &FitOutcome::conversations},
      Field<FitOutcome>::values("lost[]", {kText, "what the laws do not keep of the trace"}, &FitOutcome::lost),
      {"workload", {kText, "the key workload of a scenario, as YAML"}, fragment_text}};
  return fields;
}

std::string interval(const Estimate& e, const char* unit = "") {
  return fmt::format("{}{} ({} to {})", figure(e.value), unit, figure(e.low), figure(e.high));
}

std::string words_of(const char* what, const LengthFit& fit) {
  std::string text = fmt::format("{}: {}, mean {} tokens, cv {}, distance {:.3f}", what, word(fit.law.distribution),
                                 interval(fit.parameters.mean), interval(fit.parameters.cv), fit.distance);
  if (fit.law.distribution == Distribution::empirical) {
    text += fmt::format("; the nearest law is {:.3f} away", fit.nearest_law);
  }
  return text;
}

}  // namespace

Json fit_document(const FitOutcome& outcome) {
  Json unread = Json::object();
  return filled(document_head(unread), fit_fields(), outcome).take();
}

KeyList fit_keys() {
  return head_keys(keys_of(fit_fields()));
}

std::string fit_yaml(FitOutcome o, bool all_values) {
  const std::optional<double> few = all_values ? std::nullopt : read_shorter(o);
  std::vector<std::string> comments{fmt::format("Fitted to {} of {} (format {}); intervals are 99 %",
                                                counted(o.requests, "request"), o.trace, o.format)};
  if (o.kept < o.requests) {
    comments.push_back(
        fmt::format("laws are of {} of them, in runs of 1,024 that lie evenly over the trace", whole(o.kept)));
  }
  if (o.arrivals) {
    comments.push_back(fmt::format("gaps: {}, rate {}, cv {}, distance {:.3f}", word(o.arrivals->law.kind),
                                   interval(o.arrivals->rate_per_s, "/s"), interval(o.arrivals->cv),
                                   o.arrivals->distance));
  }
  if (o.rate.beyond_chance) {
    const auto [least, most] =
        std::minmax_element(o.rate.windows.begin(), o.rate.windows.end(),
                            [](const auto& a, const auto& b) { return a.rate_per_s < b.rate_per_s; });
    comments.push_back(
        fmt::format("rate over time: {:.3g}/s to {:.3g}/s over {} windows of {:.4g} s, {:.3g} times the variance of a "
                    "constant rate; gaps are of a clock that runs as fast",
                    least->rate_per_s, most->rate_per_s, o.rate.windows.size(),
                    o.rate.windows.front().until_s - o.rate.windows.front().from_s, o.rate.dispersion));
  }
  comments.push_back(words_of("prompts", o.prompt));
  comments.push_back(words_of("outputs", o.output));
  if (o.sessions) {
    std::string words = fmt::format(
        "{}: {}, turns {}, first prompt {} tokens",
        o.conversations ? "conversations, known by prompts that go on from earlier ones" : "sessions",
        whole(o.sessions->sessions), interval(o.sessions->turns.mean), interval(o.sessions->first_prompt.mean));
    if (o.sessions->growth) words += fmt::format(", growth {} tokens", interval(o.sessions->growth->mean));
    if (const auto think = mean_s(o.sessions->think_ns)) words += fmt::format(", think time {} s", interval(*think));
    if (o.sessions->followed < o.sessions->sessions) words += fmt::format("; of {}", whole(o.sessions->followed));
    comments.push_back(words);
  }
  if (few) {
    comments.push_back(fmt::format(
        "lengths that no law is near: {} values here, with the mean and cv of the up to {} that --out and --json "
        "have, and at most {:.3f} away from them",
        traffic::kFewValues, traffic::kFitValues, *few));
  }
  for (const std::string& lost : o.lost) comments.push_back("lost: " + lost);
  std::string text;
  for (const std::string& comment : comments) text += "# " + text::visible(comment) + "\n";
  return text + fragment_text(o);
}

namespace {

constexpr std::size_t kPoints = 400;  // of a curve: finer than a page shows

/// Shares of a sample up to its values.
template <class Value>
plot::Series shares(std::string label, const std::vector<Value>& ascending, double scale) {
  plot::Series series{std::move(label), {}};
  const std::size_t n = ascending.size();
  for (std::size_t k = 0; k <= kPoints; ++k) {
    const std::size_t i = k * (n - 1) / kPoints;
    const double x = static_cast<double>(ascending[i]) * scale;
    if (x > 0) series.points.push_back({x, static_cast<double>(i + 1) / static_cast<double>(n)});
  }
  return series;
}

std::string length_chart(const std::string& title, const FitOutcome& o, const LengthFit& fit,
                         std::span<const std::int32_t> lengths) {
  std::vector<std::int32_t> sorted(lengths.begin(), lengths.end());
  std::sort(sorted.begin(), sorted.end());
  plot::Series law{fmt::format("law ({})", word(fit.law.distribution)), {}};
  for (std::size_t k = 0; k <= kPoints; ++k) {
    const std::int64_t tokens = sorted[k * (sorted.size() - 1) / kPoints];
    law.points.push_back({static_cast<double>(tokens), traffic::share_up_to(fit.law, tokens)});
  }
  plot::Chart chart;
  chart.title = title;
  chart.description =
      fmt::format("Share of requests up to each length, of the trace and of the law; distance {:.3f}.", fit.distance);
  chart.x_title = "tokens";
  chart.y_title = "share of requests";
  chart.x_scale = plot::ScaleKind::logarithmic;
  chart.series = {shares("trace", sorted, 1), std::move(law)};
  return plot::to_svg_file(chart, o.trace);
}

std::string rate_chart(const FitOutcome& o) {
  plot::Chart chart;
  chart.title = "Arrivals over time";
  chart.description = "Mean rate in each part of the trace's time, and of the law.";
  chart.x_title = "time since the first arrival, s";
  chart.y_title = "requests/s";
  chart.shape = plot::Shape::steps;
  plot::Series trace{"trace", {}}, law{"law", {}};
  for (const traffic::RateWindow& w : o.rate.windows) {
    trace.points.push_back({w.from_s, w.rate_per_s});
    if (o.arrivals) law.points.push_back({w.from_s, o.arrivals->law.rate_per_s});
  }
  if (!o.rate.windows.empty()) {
    trace.points.push_back({o.rate.windows.back().until_s, o.rate.windows.back().rate_per_s});
    if (o.arrivals) law.points.push_back({o.rate.windows.back().until_s, o.arrivals->law.rate_per_s});
  }
  chart.y_least = 0;
  chart.series = {std::move(trace), std::move(law)};
  return plot::to_svg_file(chart, o.trace);
}

}  // namespace

std::vector<std::string> fit_chart_names() {
  return {"prompts.svg", "outputs.svg", "arrivals.svg"};
}

std::vector<std::pair<std::string, std::string>> fit_charts(const FitOutcome& outcome,
                                                            const traffic::TrafficSample& sample) {
  return {{"prompts.svg", length_chart("Prompt lengths", outcome, outcome.prompt, sample.prompts())},
          {"outputs.svg", length_chart("Output lengths", outcome, outcome.output, sample.outputs())},
          {"arrivals.svg", rate_chart(outcome)}};
}

}  // namespace kvsim::results
