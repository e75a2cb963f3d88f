// One tile at a time through the whole machine: the tile law written out here once more, and the
// lecture's 2 x 2 example in all three modes.
#include <cstdio>

#include "adagp/base/core/error.h"
#include "arithmetic.h"
#include "model.h"

namespace {

using namespace adagp;
using namespace adagp::rtl;

int failures = 0;

Descriptor make(Op op) {
  Descriptor d;
  d.op = static_cast<std::uint32_t>(op);
  d.mask = kEveryPhase;
  d.wait = 31;
  return d;
}

// T = [C if load W] + M + (R + C + 1) + [C if drain dW] + 1, for M from 1, in every mode.
int tile_law(Model& model) {
  const Machine m = built_machine();
  int tiles = 0;
  for (std::uint32_t rows = 1; rows <= 20; ++rows)
    for (int mode = 0; mode < 3; ++mode)
      for (int load = 0; load < 2; ++load)
        for (int drain = 0; drain < (mode == 2 ? 2 : 1); ++drain) {
          Descriptor d = make(Op::kTile);
          d.mode = mode;
          d.load_w = load;
          d.drain = drain;
          d.n0 = rows;
          d.n1 = d.n2 = d.s0 = 1;
          const std::uint64_t law =
              (load ? m.cols : 0) + rows + m.rows + m.cols + 1 + (drain ? m.cols : 0) + 1;
          const Counts c = model.run({d, make(Op::kEnd)}, {}, {});
          ++tiles;
          // 3 cycles to issue the tile, its own, and 2 for `end`, which is fetched meanwhile.
          if (c.busy_main == law && c.cycles == 3 + law + 2) continue;
          ++failures;
          std::printf("mode %d, %u rows, load %d, drain %d: busy %llu of %llu cycles, law %llu\n",
                      mode, rows, load, drain, static_cast<unsigned long long>(c.busy_main),
                      static_cast<unsigned long long>(c.cycles),
                      static_cast<unsigned long long>(law));
        }
  return tiles;
}

std::uint32_t number(int value, int bits) {
  if (built_machine().format == Format::kFixed) return static_cast<std::uint32_t>(value);
  const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return bits == 16 ? word >> 16 : word;
}

// X = [[1,4],[5,2]], W = [[2,3],[0,1]], dY = [[3,4],[1,2]]; unused lanes and rows are 0.
void lecture(Model& model) {
  const Machine m = built_machine();
  if (m.rows < 2 || m.cols < 2) return;
  const int x[2][2] = {{1, 4}, {5, 2}}, w[2][2] = {{2, 3}, {0, 1}}, g[2][2] = {{3, 4}, {1, 2}};
  const int y[2][2] = {{2, 7}, {10, 17}}, dx[2][2] = {{18, 4}, {8, 2}},
            dw[2][2] = {{8, 14}, {14, 20}};
  std::fill(model.outside().begin(), model.outside().end(), 0);
  Program program;
  const auto transfer = [&](Buffer b, std::uint32_t rows, std::uint32_t beat, bool store) {
    Descriptor d = make(Op::kDma);
    d.kind = static_cast<std::uint32_t>(b);
    d.n0 = rows;
    d.addr = beat;
    d.store = store;
    program.push_back(d);
  };
  const auto put = [&](int beat, const int(&values)[2][2]) {
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        model.outside()[(beat + i) * m.lanes() + j] = number(values[i][j], 16);
  };
  const int w_beat = 4;
  put(0, x);
  put(2, g);
  put(w_beat, w);
  transfer(Buffer::kX, 2, 0, false);
  transfer(Buffer::kG, 2, 2, false);
  transfer(Buffer::kW, m.cols, w_beat, false);
  for (int mode = 0; mode < 3; ++mode) {
    Descriptor d = make(Op::kTile);
    d.mode = mode;
    d.load_w = mode == 0;  // dx uses the weights that are already in the cells
    d.clear = d.drain = mode == 2;
    d.n0 = 2;
    d.n1 = d.n2 = d.s0 = 1;
    program.push_back(d);
  }
  const int out = w_beat + m.cols;
  transfer(Buffer::kY, 2, out, true);
  transfer(Buffer::kD, 2, out + 2, true);
  transfer(Buffer::kO, 2, out + 4, true);
  program.push_back(make(Op::kEnd));
  model.run(program, {}, {});
  const auto compare = [&](const char* name, int beat, const int(&expected)[2][2]) {
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j) {
        const std::uint32_t seen = model.outside()[(beat + i) * m.lanes() + j];
        if (seen == number(expected[i][j], 32)) continue;
        ++failures;
        std::printf("lecture: %s[%d][%d] is %08x, expected %d\n", name, i, j, seen, expected[i][j]);
      }
  };
  compare("Y", out, y);
  compare("dX", out + 2, dx);
  compare("dW", out + 4, dw);
}

}  // namespace

int main() {
  try {
    const Machine m = built_machine();
    Model model(static_cast<std::size_t>(m.cols) + 16);
    const int tiles = tile_law(model);
    lecture(model);
    std::printf("tiles %s %dx%d %s: %d tiles%s: %d wrong\n",
                kDesignNames[static_cast<int>(m.design)], m.rows, m.cols,
                kFormatNames[static_cast<int>(m.format)], tiles,
                m.rows < 2 || m.cols < 2 ? "" : " and the lecture's example", failures);
  } catch (const Error& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 1;
  }
  return failures != 0;
}
