#include "models/hardware/link_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "models/schemas.h"

namespace kvsim::models {

double gather_s(const LinkSpec& link, const GatherMethod& method, double rows, double row_bytes) {
  const double read = link.read_bytes_per_s.value;
  const double bytes_per_s = method.bytes_per_s.value > 0 ? std::min(method.bytes_per_s.value, read) : read;
  return rows * std::max(method.per_row_s.value, row_bytes / bytes_per_s);
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

ObjectSchema<LinkSpec> make_link_schema() {
  ObjectSchema<LinkSpec> s("link", "A link or a storage device: what moves bytes between memories.");
  s.optional("name", &LinkSpec::name, text(), "name in the catalogue");
  s.required("description", &LinkSpec::description, text().non_empty(), "one line for lists");
  s.required("kind", &LinkSpec::kind,
             choice<LinkKind>({{"host", LinkKind::host, "between a GPU and host memory"},
                               {"peer", LinkKind::peer, "between GPUs of one machine"},
                               {"network", LinkKind::network, "between machines"},
                               {"storage", LinkKind::storage, "to a disk or a storage service"}}),
             "what it connects");
  s.required("read", &LinkSpec::read_bytes_per_s, bandwidth().positive(),
             "towards the GPU (host to device, storage read), as large transfers reach it");
  s.required("write", &LinkSpec::write_bytes_per_s, bandwidth().positive(),
             "away from the GPU (device to host, storage write), as large transfers reach it");
  s.optional("latency", &LinkSpec::latency_s, time().non_negative(), "from the last byte sent to its arrival");
  s.optional("setup", &LinkSpec::setup_s, time().non_negative(),
             "of each transfer (descriptor, request), while the one before it moves");
  s.list("gathers", &LinkSpec::gathers, gather_schema(), Presence::optional,
         "ways to copy scattered rows towards the GPU; none: not known");
  s.check(check_gathers);
  return s;
}

}  // namespace

const ObjectSchema<LinkSpec>& link_schema() {
  static const ObjectSchema<LinkSpec> schema = make_link_schema();
  return schema;
}

}  // namespace kvsim::models
