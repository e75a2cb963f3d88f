// Images per second of the loader on JPEG files in ImageNet's layout, beside TurboJPEG alone: the
// same files in memory, decoded whole into one buffer by as many threads, and nothing else.
// Rounds of both alternate, so that a machine that is busy with other things slows both; the
// medians are printed.

#include <stdlib.h>
#include <time.h>
#include <turbojpeg.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <memory>
#include <thread>

#include "adagp/base/core/error.h"
#include "adagp/base/core/files.h"
#include "adagp/base/core/rng.h"
#include "adagp/base/core/text.h"
#include "adagp/engine/data/sets/registry.h"
#include "adagp/engine/data/stream/loader.h"

namespace {

using adagp::core::fs::path;

constexpr const char* kUsage =
    "jpeg_bench [threads] [folder with train/CLASS/*.jpg and test/CLASS/*.jpg]\n"
    "Images per second of the loader beside TurboJPEG alone; 2 threads unless told. Without a\n"
    "folder it makes one: photograph-like textures of ImageNet's usual sizes.\n"
    "\n"
    "jpeg_bench --make FOLDER IMAGES\n"
    "Such a folder to train on: so many files in train/, 64 in test/. From the 65th on they are\n"
    "copies of earlier ones.";
constexpr int kRounds = 7;
constexpr int64_t kBatch = 16;

struct Times {
  double wall = 0, cpu = 0;  // seconds per image
};

double clock_now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

template <typename Body>
Times timed(int64_t images, const Body& body) {
  const double wall = clock_now(CLOCK_MONOTONIC), cpu = clock_now(CLOCK_PROCESS_CPUTIME_ID);
  body();
  const auto n = static_cast<double>(images);
  return {(clock_now(CLOCK_MONOTONIC) - wall) / n, (clock_now(CLOCK_PROCESS_CPUTIME_ID) - cpu) / n};
}

// Waves of many lengths with grain: about as many bytes as a photograph of that size.
std::string make_jpeg(int width, int height, uint64_t seed) {
  adagp::core::Rng rng(seed);
  std::vector<uint8_t> rgb(static_cast<size_t>(width) * height * 3);
  double waves[24][3];
  for (auto& wave : waves) {
    const double length = std::exp(rng.uniform(std::log(6.0), std::log(400.0)));
    const double angle = rng.uniform(0, 6.283);
    wave[0] = std::cos(angle) * 6.283 / length;
    wave[1] = std::sin(angle) * 6.283 / length;
    wave[2] = std::sqrt(length);
  }
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double value[3] = {128, 128, 128};
      for (int i = 0; i < 24; ++i) {
        value[i % 3] += waves[i][2] * std::sin(waves[i][0] * x + waves[i][1] * y + i);
      }
      for (int c = 0; c < 3; ++c) {
        const double grained = value[c] * 0.6 + value[0] * 0.4 + rng.uniform(-22, 22);
        rgb[static_cast<size_t>((y * width + x) * 3 + c)] =
            static_cast<uint8_t>(std::clamp(grained, 0.0, 255.0));
      }
    }
  }
  unsigned char* bytes = nullptr;
  unsigned long count = 0;
  tjhandle handle = tjInitCompress();
  const int failed = tjCompress2(handle, rgb.data(), width, 0, height, TJPF_RGB, &bytes, &count,
                                 TJSAMP_420, 92, TJFLAG_ACCURATEDCT);
  std::string out(reinterpret_cast<char*>(bytes), failed == 0 ? count : 0);
  tjFree(bytes);
  tjDestroy(handle);
  if (failed != 0) throw adagp::Error("a JPEG could not be made");
  return out;
}

constexpr int kTextures = 64;  // of each half; more files are copies

// The last of the sizes is large enough to be decoded at half its size.
void make_folder(const path& folder, bool with_large, int64_t train_files = kTextures) {
  constexpr int kSizes[][2] = {{500, 375}, {500, 375}, {375, 500}, {500, 333}, {500, 375},
                               {500, 334}, {640, 480}, {400, 300}, {500, 375}, {1024, 768}};
  int64_t number = 0;
  for (const char* half : {"train", "test"}) {
    std::vector<std::string> textures;
    for (int i = 0; i < kTextures; ++i, ++number) {
      const auto& size = kSizes[number % (std::ssize(kSizes) - (with_large ? 0 : 1))];
      textures.push_back(make_jpeg(size[0], size[1], static_cast<uint64_t>(number)));
    }
    const int64_t files = half == std::string("train") ? train_files : kTextures;
    for (int64_t i = 0; i < files; ++i) {
      const path file = folder / half / (i % 2 == 0 ? "a" : "b") / (std::to_string(i) + ".jpg");
      adagp::core::make_folder(file.parent_path());
      adagp::core::write_file(file, textures[static_cast<size_t>(i % kTextures)]);
    }
  }
}

std::vector<std::string> read_all(const path& folder) {
  std::vector<std::string> files;
  for (const auto& entry : adagp::core::fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) files.push_back(adagp::core::read_file(entry.path()));
  }
  return files;
}

void decode_alone(const std::vector<std::string>& files, int64_t images, int threads) {
  std::atomic<int64_t> next{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&] {
      tjhandle handle = tjInitDecompress();
      std::vector<uint8_t> pixels;
      for (int64_t i = 0; (i = next++) < images;) {
        const std::string& file = files[static_cast<size_t>(i) % files.size()];
        const auto* data = reinterpret_cast<const unsigned char*>(file.data());
        int width = 0, height = 0, subsampling = 0, colours = 0;
        tjDecompressHeader3(handle, data, file.size(), &width, &height, &subsampling, &colours);
        pixels.resize(std::max(pixels.size(), static_cast<size_t>(width) * height * 3));
        tjDecompress2(handle, data, file.size(), pixels.data(), width, 0, height, TJPF_RGB,
                      TJFLAG_ACCURATEDCT);
      }
      tjDestroy(handle);
    });
  }
  for (auto& worker : workers) worker.join();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void compare(const char* name, const std::shared_ptr<const adagp::data::Dataset>& dataset,
             const std::vector<std::string>& files, bool training, int threads) {
  adagp::data::LoaderOptions options;
  options.batch = kBatch;
  options.workers = threads;
  options.augment.train = training;
  using adagp::data::Crop;
  options.augment.crop = training ? Crop::kResized : Crop::kNone;
  options.augment.height = options.augment.width = 224;
  options.prefetch = threads;
  const int64_t batches = 40, images = batches * kBatch;
  // As many images as the other decodes, none made ahead for an end that never comes.
  const int64_t per_epoch = dataset->size() / kBatch;
  options.skips = [=](int64_t epoch, int64_t position) {
    return epoch * per_epoch + position >= batches;
  };
  std::vector<double> alone_wall, alone_cpu, loader_wall, loader_cpu, ratios;
  for (int round = 0; round < kRounds; ++round) {
    const Times alone = timed(images, [&] { decode_alone(files, images, threads); });
    // A loader of this round's own: one that lived on would work ahead while the other is timed.
    const Times ours = timed(images, [&] {
      adagp::data::Loader loader(dataset, options);
      for (int64_t i = 0; i < batches; ++i) loader.next();
    });
    alone_wall.push_back(alone.wall);
    alone_cpu.push_back(alone.cpu);
    loader_wall.push_back(ours.wall);
    loader_cpu.push_back(ours.cpu);
    ratios.push_back(alone.cpu / ours.cpu);
  }
  std::printf(
      "%-6s %d threads: TurboJPEG alone %7.1f images/s (%.3f ms CPU), loader %7.1f images/s "
      "(%.3f ms CPU): %.1f %% by the clock, %.1f %% by CPU time\n",
      name, threads, 1 / median(alone_wall), 1e3 * median(alone_cpu), 1 / median(loader_wall),
      1e3 * median(loader_cpu), 100 * median(alone_wall) / median(loader_wall),
      100 * median(ratios));
}

void compare_folder(const path& folder, int threads) {
  adagp::data::Config config;
  config.name = "image-folder";
  config.dir = folder;
  const auto splits = adagp::data::open(config);
  compare("train", splits.train, read_all(folder / "train"), true, threads);
  compare("test", splits.test, read_all(folder / "test"), false, threads);
}

void compare_made(bool with_large, int threads) {
  std::string folder = (adagp::core::fs::temp_directory_path() / "adagp-jpeg-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    throw adagp::Error(folder + ": cannot be made; set TMPDIR to a folder one may write to");
  }
  const std::unique_ptr<std::string, void (*)(std::string*)> cleanup(
      &folder, [](std::string* made) { adagp::core::fs::remove_all(*made); });
  make_folder(folder, with_large);
  std::printf("%s\n", with_large ? "one in ten is 1024x768, the others up to 640x480"
                                 : "up to 640x480: none is decoded at half its size in the test");
  compare_folder(folder, threads);
}

int number_of(const char* what, const std::string& text, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > most) {
    throw adagp::UsageError(
        adagp::core::cat(what, ": '", text, "', expected a number from 1 to ", most));
  }
  return number;
}

}  // namespace

int main(int argc, char** argv) try {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && (args[0] == "--help" || args[0] == "-h")) {
    std::puts(kUsage);
    return 0;
  }
  if (!args.empty() && args[0] == "--make") {
    if (args.size() != 3) throw adagp::UsageError("--make wants a folder and a number of images");
    if (adagp::core::fs::exists(args[1]) && !adagp::core::fs::is_empty(args[1])) {
      throw adagp::UsageError(args[1] +
                              ": is there and not empty; delete it or name another folder");
    }
    make_folder(args[1], true, number_of("images", args[2], 10'000'000));
    return 0;
  }
  if (args.size() > 2) throw adagp::UsageError("more than two arguments");
  const int threads = args.empty() ? 2 : number_of("threads", args[0], 1024);
  if (args.size() == 2) {
    compare_folder(args[1], threads);
    return 0;
  }
  for (const bool with_large : {false, true}) compare_made(with_large, threads);
  return 0;
} catch (const adagp::Error& error) {
  std::fprintf(stderr, "jpeg_bench: %s\n", error.what());
  if (error.exit_code() == 2) std::fprintf(stderr, "%s\n", kUsage);
  return error.exit_code();
} catch (const std::exception& error) {  // no such folder
  std::fprintf(stderr, "jpeg_bench: %s\n", error.what());
  return 1;
}
