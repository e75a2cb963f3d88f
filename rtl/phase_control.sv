// Which phase the batch has: n_warm batches of warm-up, then k predicted (GP) and m exact (BP) in
// turn. The baseline knows BP alone.
module phase_control #(parameter int HAS_PRED = 0) (
  input  logic        clk,
  input  logic        start,
  input  logic        next,
  input  logic [31:0] n_batches,
  input  logic [31:0] n_warm,
  input  logic [7:0]  k,
  input  logic [7:0]  m,
  output logic [2:0]  phase,   // one bit: adagp_pkg::PHASE_*
  output logic        last);
  logic [31:0] batch;
  logic [8:0] turn;
  logic warm;
  assign last = batch + 32'd1 == n_batches;
  assign warm = batch < n_warm;
  assign phase = HAS_PRED == 0 ? 3'(1 << adagp_pkg::PHASE_BP) :
                 warm ? 3'(1 << adagp_pkg::PHASE_WARM) :
                 turn < {1'b0, k} ? 3'(1 << adagp_pkg::PHASE_GP) : 3'(1 << adagp_pkg::PHASE_BP);
  always_ff @(posedge clk) begin
    if (start) begin
      batch <= 32'd0;
      turn <= 9'd0;
    end else if (next) begin
      batch <= batch + 32'd1;
      if (!warm) turn <= (turn + 9'd1 == {1'b0, k} + {1'b0, m}) ? 9'd0 : turn + 9'd1;
    end
  end
endmodule
