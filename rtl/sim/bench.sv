// A machine of cells (rtl/tools/gate_netlist.py) runs one program in Icarus Verilog: what
// rtl/sim/model.cpp does for the RTL. The waveform has all wires of the cells from the end of the
// reset on. `OUTSIDE` words of a row outside make the lanes; the clock is slow enough for any path.
`timescale 1ns/1ps
module TOP;
  parameter int LANES = 3, LD = 7, DESCRIPTORS = 1, BEATS = 1, LIMIT = 1000000, HALF = 500;
  localparam int LS = adagp_pkg::STRETCH_ADDRESS_BITS;
  localparam int STRETCH = adagp_pkg::EPOCH_BITS + 2 * adagp_pkg::RATIO_BITS + 1;
  logic [255:0] descriptors [0:DESCRIPTORS-1];
  logic [LANES*32-1:0] outside [0:BEATS-1];
  logic clk = 0, rst = 1, program_we = 0, start = 0, stretch_we = 0;
  logic [LD-1:0] program_wa = 0;
  logic [255:0] program_wd = 0;
  logic [LS-1:0] stretch_wa = 0;
  logic [STRETCH-1:0] stretch_wd = 0;
  logic running, batch_done, error, clash;
  logic [2:0] seq_state, seq_phase;
  logic [LD-1:0] seq_pc;
  logic [4:0] seq_idle;
  logic [adagp_pkg::EVENTS*adagp_pkg::COUNTER_BITS-1:0] counts;
  logic request_valid, request_store, load_ready, store_valid;
  logic load_valid = 0, store_ready = 0;
  logic [31:0] request_addr;
  logic [15:0] request_beats;
  logic [LANES*32-1:0] load_data = 0, store_data;
  adagp_top machine (
    .clk(clk), .rst(rst), .program_we(program_we), .program_wa(program_wa),
    .program_wd(program_wd), .start(start), .n_batches(32'd1), .epoch_batches(32'd1),
    .stretch_we(stretch_we), .stretch_wa(stretch_wa), .stretch_wd(stretch_wd), .running(running),
    .batch_done(batch_done), .error(error), .clash(clash), .seq_state(seq_state), .seq_pc(seq_pc),
    .seq_idle(seq_idle), .seq_phase(seq_phase), .counts(counts), .request_valid(request_valid),
    .request_ready(1'b1), .request_store(request_store), .request_addr(request_addr),
    .request_beats(request_beats), .load_valid(load_valid), .load_ready(load_ready),
    .load_data(load_data), .store_valid(store_valid), .store_ready(store_ready),
    .store_data(store_data));

  int beat = 0, left = 0;
  logic storing = 0, moves, asked, store;
  logic [31:0] addr;
  logic [15:0] beats;
  task cycle;
    begin
      load_valid = left > 0 && !storing;
      store_ready = left > 0 && storing;
      if (load_valid) load_data = outside[beat];
      clk = 0;
      #HALF;
      moves = (load_valid && load_ready) || (store_ready && store_valid);
      if (moves && storing) outside[beat] = store_data;
      asked = request_valid;
      addr = request_addr;
      beats = request_beats;
      store = request_store;
      clk = 1;
      #HALF;
      if (moves) begin beat = beat + 1; left = left - 1; end
      if (asked) begin beat = addr; left = beats; storing = store; end
    end
  endtask

  int cycles = 0;
  initial begin
    $readmemh("descriptors.hex", descriptors);
    $readmemh("outside.hex", outside);
    for (int i = 0; i < 3; i = i + 1) cycle;
    rst = 0;
    cycle;
    $dumpfile("cells.vcd");
    $dumpvars(1, TOP);
    $dumpvars(2, TOP.machine);
    for (int i = 0; i < DESCRIPTORS; i = i + 1) begin
      program_we = 1; program_wa = i; program_wd = descriptors[i];
      cycle;
    end
    program_we = 0;
    stretch_we = 1; stretch_wd = 1 << (adagp_pkg::EPOCH_BITS + adagp_pkg::RATIO_BITS);  // 0:1
    cycle;
    stretch_we = 0;
    start = 1;
    cycle;
    start = 0;
    while (running !== 0 && cycles < LIMIT) begin cycle; cycles = cycles + 1; end
    if (running !== 0 || error !== 0 || clash !== 0) $display("the machine of cells did not end");
    $writememh("cells.hex", outside);
    $finish;
  end
endmodule
