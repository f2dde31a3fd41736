// Published link figures against what the catalogue's links do when such a transfer runs over them.
#include <limits>

#include "tools/validation/groups/groups.h"
#include "tools/validation/link_run.h"

namespace kvsim::validation {
namespace {

constexpr double kBulk = 0.02;    // tolerance of large transfers
constexpr double kBlocks = 0.05;  // of block transfers
constexpr double kPieces = 0.10;  // of scattered pieces: the published range is wider
constexpr std::int64_t kKiB = 1024;

constexpr const char* kBothWays = "the two directions of a link do not slow each other down in kvsim";
constexpr const char* kNoSuchNics = "the catalogue has no link like 16 x 200 Gbit/s EFA adapters together";

struct PublishedLink {
  const char* name;
  const char* what;
  double gb_per_s;
  double tolerance;
  LinkRun run;
  const char* source;
  const char* assumption = "";
  const char* skipped = "";
};

std::vector<PublishedLink> published_links() {
  using enum Direction;
  const LinkRun none{};
  return {
      {"pcie5.h2d", "PCIe 5 x16, host to device", 55.4, kBulk, {"pcie5-x16", read}, "nvbandwidth on H100"},
      {"pcie5.d2h", "PCIe 5 x16, device to host", 57.2, kBulk, {"pcie5-x16", write}, "nvbandwidth on H100"},
      {"pcie5.h2d_both",
       "PCIe 5 x16, H2D while D2H",
       51.5,
       kBulk,
       {"pcie5-x16", read},
       "nvbandwidth on H100",
       "",
       kBothWays},
      {"pcie5.d2h_both",
       "PCIe 5 x16, D2H while H2D",
       48.7,
       kBulk,
       {"pcie5-x16", write},
       "nvbandwidth on H100",
       "",
       kBothWays},
      {"pcie5.8k",
       "PCIe 5 x16, H2D in 8 KiB pieces",
       12.5,
       kPieces,
       {"pcie5-x16", read, 8 * kKiB, 8192},
       "vLLM pull request 48434 (batched copies, 8,192 descriptors)",
       "every piece is a transfer of its own; published as 12.5 to 15 GB/s"},
      {"pcie5.128k",
       "PCIe 5 x16, H2D in 128 KiB pieces",
       54,
       kPieces,
       {"pcie5-x16", read, 128 * kKiB, 512},
       "vLLM pull request 48434 (8 KiB pieces merged in runs of 16)",
       "every piece is a transfer of its own"},
      {"pcie4.h2d",
       "PCIe 4 x16, host to device",
       25.1,
       kBulk,
       {"pcie4-x16", read},
       "nvbandwidth on A100-SXM4-40GB and A10"},
      {"c2c.h2d", "GH200 C2C, host to device", 342, kBulk, {"c2c", read}, "nvbandwidth (vLLM pull request 6496)"},
      {"c2c.d2h", "GH200 C2C, device to host", 295, kBulk, {"c2c", write}, "nvbandwidth (vLLM pull request 6496)"},
      {"rdma.64k", "RDMA 16 x 200G, 64 KiB blocks", 97, kBlocks, none, "Mooncake, efa_transport.md", "", kNoSuchNics},
      {"rdma.128k", "RDMA 16 x 200G, 128 KiB blocks", 191, kBlocks, none, "Mooncake, efa_transport.md", "",
       kNoSuchNics},
      {"rdma.256k", "RDMA 16 x 200G, 256 KiB blocks", 325, kBlocks, none, "Mooncake, efa_transport.md", "",
       kNoSuchNics},
      {"rdma.1m", "RDMA 16 x 200G, 1 MiB blocks", 353, kBlocks, none, "Mooncake, efa_transport.md", "", kNoSuchNics},
      {"nvme.read",
       "one NVMe Gen4, 2 MiB reads",
       6.4,
       kBlocks,
       {"nvme-gen4", read, 2048 * kKiB, 512},
       "fio, 16 jobs (s3fs-fuse issue 2079)",
       "16 jobs keep the drive busy: requests queue one behind another"},
      {"raid0.read",
       "4 x NVMe Gen4 RAID 0, read",
       26,
       kBulk,
       {"nvme-gen4-raid0-x4", read, 16'000'000'000},
       "LMCache pull request 4673"},
  };
}

}  // namespace

std::vector<Figure> link_figures(const Inputs&) {
  std::vector<Figure> figures;
  for (const PublishedLink& p : published_links()) {
    Figure f;
    f.id = std::string("links/") + p.name;
    f.what = p.what;
    f.unit = "GB/s";
    f.expected = p.gb_per_s;
    f.tolerance = p.tolerance;
    f.source = p.source;
    if (*p.assumption != '\0') f.assumptions.emplace_back(p.assumption);
    f.skipped = p.skipped;
    f.simulated = p.run.link.empty() ? std::numeric_limits<double>::quiet_NaN() : bandwidth_of(p.run) * 1e-9;
    figures.push_back(std::move(f));
  }
  return figures;
}

}  // namespace kvsim::validation
