#include "models/hardware/link_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "models/schemas.h"

namespace kvsim::models {

const char* word(Collective operation) {
  constexpr std::array kWords{"all_reduce", "all_gather", "reduce_scatter", "all_to_all"};
  return kWords.at(static_cast<std::size_t>(operation));
}

double gather_s(double read_bytes_per_s, const GatherMethod& method, double rows, double row_bytes) {
  const double bytes_per_s =
      method.bytes_per_s.value > 0 ? std::min(method.bytes_per_s.value, read_bytes_per_s) : read_bytes_per_s;
  return rows * std::max(method.per_row_s.value, row_bytes / bytes_per_s);
}

double gather_s(const LinkSpec& link, const GatherMethod& method, double rows, double row_bytes) {
  return gather_s(link.read_bytes_per_s.value, method, rows, row_bytes);
}

double gathered_bytes_per_s(const LinkSpec& link, const GatherMethod& method, double row_bytes) {
  return row_bytes / gather_s(link, method, 1, row_bytes);
}

const GatherMethod* find_gather(const LinkSpec& link, std::string_view name, double row_bytes) {
  const std::vector<GatherMethod>& all = link.gathers;
  const bool best = name == "best";
  const auto found =
      best ? std::min_element(all.begin(), all.end(),
                              [&](const GatherMethod& a, const GatherMethod& b) {
                                return gather_s(link, a, 1, row_bytes) < gather_s(link, b, 1, row_bytes);
                              })
           : std::find_if(all.begin(), all.end(), [name](const GatherMethod& m) { return m.name == name; });
  return found == all.end() ? nullptr : &*found;
}

namespace {

using namespace schema;

ObjectSchema<GatherMethod> gather_schema() {
  ObjectSchema<GatherMethod> s("gather method",
                               "One way to copy scattered rows: each takes max(per_row, its bytes / bandwidth).");
  s.required("name", &GatherMethod::name, text().non_empty(), "for example batched_copies");
  s.optional("per_row", &GatherMethod::per_row_s,
             time().non_negative().at_most(1).because("a row's fixed time lies between nothing and a second"),
             "least time of a row: its descriptor or its requests");
  s.optional("bandwidth", &GatherMethod::bytes_per_s, bandwidth().positive(),
             "what long rows reach, at most the link's read; left out: that");
  s.check([](const GatherMethod& method, const Reporter& report) {
    if (method.per_row_s.value <= 0 && method.bytes_per_s.value <= 0) {
      report.fail("per_row", "expected a per_row above 0 s or a bandwidth: nothing tells rows from one large transfer");
    }
  });
  return s;
}

void check_gathers(const LinkSpec& link, const Reporter& report) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < link.gathers.size(); ++i) {
    const GatherMethod& method = link.gathers[i];
    if (method.name == "best") {
      report.fail(fmt::format("gathers.{}.name", i),
                  "\"best\" stands for the fastest method, no method can be called so");
    }
    if (!names.insert(method.name).second) {
      report.fail(fmt::format("gathers.{}.name", i), fmt::format("a second method called \"{}\"", method.name));
    }
  }
}

ObjectSchema<CollectiveTable> collective_schema() {
  ObjectSchema<CollectivePoint> point("collective point", "One message size.");
  point.required("bytes", &CollectivePoint::bytes, bytes().positive(), "size of the message");
  point.required("seconds", &CollectivePoint::seconds, time().positive(), "time of one collective");

  ObjectSchema<CollectiveTable> s("collective", "Times of one collective in groups of one size.");
  s.optional(
      "operation", &CollectiveTable::operation,
      choice<Collective>({{word(Collective::all_reduce), Collective::all_reduce, "sum of everybody's message"},
                          {word(Collective::all_gather), Collective::all_gather, "everybody's part of a message"},
                          {word(Collective::reduce_scatter), Collective::reduce_scatter, "a part of the sum"},
                          {word(Collective::all_to_all), Collective::all_to_all, "a part for everybody else"}}),
      "what everybody gets");
  s.optional("library", &CollectiveTable::library, text().non_empty(),
             "whose: nccl; vllm: its own kernel where that applies, else NCCL");
  s.required("gpus", &CollectiveTable::gpus, integer().at_least(2), "GPUs in the group");
  s.list("points", &CollectiveTable::points, point, Presence::required, "ascending in bytes of the whole message",
         {.at_least = 1});
  add_source_fields(s, &CollectiveTable::source, Presence::optional);
  s.check([](const CollectiveTable& table, const Reporter& report) {
    for (std::size_t i = 0; i < table.points.size(); ++i) {
      const CollectivePoint& b = table.points[i];
      const std::string at = fmt::format("points.{}", i);
      if (b.seconds < kShortestCollective_s) {
        report.fail(at + ".seconds", fmt::format("{}: no collective takes less than 1 us", format_time(b.seconds)));
      }
      if (i == 0) continue;
      const CollectivePoint& a = table.points[i - 1];
      if (b.bytes <= a.bytes) report.fail(at + ".bytes", "the points must ascend in bytes");
      if (b.seconds < a.seconds) {
        report.fail(at + ".seconds",
                    fmt::format("{} for {}, but {} for the smaller {}: a larger message cannot take less time",
                                format_time(b.seconds), format_bytes(static_cast<std::int64_t>(b.bytes)),
                                format_time(a.seconds), format_bytes(static_cast<std::int64_t>(a.bytes))));
      }
    }
  });
  return s;
}

/// One table for each collective, library and group size, and none faster than the link.
void check_collectives(const LinkSpec& link, const Reporter& report) {
  constexpr double kMostAbove = 1.5;  // the link's figure may be of a single copy, or of a slower collective
  std::set<std::tuple<Collective, std::string, int>> known;
  for (std::size_t i = 0; i < link.collectives.size(); ++i) {
    const CollectiveTable& t = link.collectives[i];
    if (!known.insert({t.operation, t.library, t.gpus}).second) {
      report.fail(fmt::format("collectives.{}.gpus", i),
                  fmt::format("a second table of {} by {} for {} GPUs", word(t.operation), t.library, t.gpus));
    }
    for (std::size_t j = 0; j < t.points.size(); ++j) {
      // At least what is not the GPU's own has to reach it, wherever sums are made.
      const double bytes_per_s = t.points[j].bytes * (t.gpus - 1) / t.gpus / t.points[j].seconds;
      if (bytes_per_s <= kMostAbove * link.read_bytes_per_s.value) continue;
      report.fail(fmt::format("collectives.{}.points.{}.seconds", i, j),
                  fmt::format("implies {}, the link reads {}", format_bandwidth(bytes_per_s),
                              format_bandwidth(link.read_bytes_per_s.value)));
    }
  }
}

ScalarSpec link_rate() {
  return bandwidth().positive().usually(1e5, 1e15);
}

ObjectSchema<LinkSpec> make_link_schema() {
  ObjectSchema<LinkSpec> s("link", "A link or a storage device: what moves bytes between memories.");
  add_entry_fields(s);
  s.required("kind", &LinkSpec::kind,
             choice<LinkKind>({{"host", LinkKind::host, "between a GPU and host memory"},
                               {"peer", LinkKind::peer, "between GPUs of one machine"},
                               {"network", LinkKind::network, "between machines"},
                               {"storage", LinkKind::storage, "to a disk or a storage service"}}),
             "what it connects");
  s.required("read", &LinkSpec::read_bytes_per_s, link_rate(),
             "towards the GPU (host to device, storage read), as large transfers reach it");
  s.required("write", &LinkSpec::write_bytes_per_s, link_rate(),
             "away from the GPU (device to host, storage write), as large transfers reach it");
  s.optional("both_ways", &LinkSpec::both_ways_bytes_per_s, link_rate(),
             "what both ways reach together while both carry something; left out: neither slows the other");
  s.optional("latency", &LinkSpec::latency_s, time().non_negative().usually(0, 3600),
             "from the last byte sent to its arrival");
  s.optional("setup", &LinkSpec::setup_s, time().non_negative().usually(0, 3600),
             "of each transfer (descriptor, request), while the one before it moves");
  s.list("gathers", &LinkSpec::gathers, gather_schema(), Presence::optional,
         "ways to copy scattered rows towards the GPU; none: not known");
  s.list("collectives", &LinkSpec::collectives, collective_schema(), Presence::optional,
         "times of all-reduces and their kin between the GPUs it joins; none: estimated from latency and read");
  s.check(check_gathers);
  s.check(check_collectives);
  return s;
}

}  // namespace

const ObjectSchema<LinkSpec>& link_schema() {
  static const ObjectSchema<LinkSpec> schema = make_link_schema();
  return schema;
}

}  // namespace kvsim::models
