// How long scattered rows take over a link, by each way of copying them (calibration spec, "Links").
#pragma once

#include <string_view>

#include "models/hardware/link_spec.h"

namespace kvsim::models {

/// Seconds that `rows` rows of `row_bytes` each occupy the link: rows max(per_row, row_bytes / rate). The link's setup
/// and latency, once for all of them, come on top.
[[nodiscard]] double gather_s(const LinkSpec& link, const GatherMethod& method, double rows, double row_bytes);

/// Bytes per second at which rows of this size cross the link.
[[nodiscard]] double gathered_bytes_per_s(const LinkSpec& link, const GatherMethod& method, double row_bytes);

/// The method of this name; "best": the fastest for rows of this size, the first of several. Null where the link has
/// none such.
[[nodiscard]] const GatherMethod* find_gather(const LinkSpec& link, std::string_view name, double row_bytes);

}  // namespace kvsim::models
