// Which phase the batch has, by a table of stretches that the host writes before the start. A
// stretch lasts some epochs, the last one (0 epochs) until the end. In each of its epochs k
// predicted (GP) and m exact (BP) batches take turns; every epoch begins with the first GP batch
// again. Batches of a stretch with the bit `warm` are warm-up. The baseline has no table and knows
// BP alone.
module phase_control #(
  parameter int HAS_PRED = 0, parameter int LS = 4, parameter int STRETCH = 33) (
  input  logic               clk,
  input  logic               we,
  input  logic [LS-1:0]      wa,
  input  logic [STRETCH-1:0] wd,     // warm, m, k, epochs
  input  logic               start,
  input  logic               next,
  input  logic [31:0]        n_batches,
  input  logic [31:0]        epoch_batches,
  output logic [2:0]         phase,  // one bit: adagp_pkg::PHASE_*
  output logic               last);
  localparam int EPOCH = adagp_pkg::EPOCH_BITS, RATIO = adagp_pkg::RATIO_BITS;
  logic [31:0] batch;
  assign last = batch + 32'd1 == n_batches;
  always_ff @(posedge clk) begin
    if (start) batch <= 32'd0;
    else if (next) batch <= batch + 32'd1;
  end
  generate
    if (HAS_PRED != 0) begin : g_table
      logic [STRETCH-1:0] now;
      logic [LS-1:0] at, next_at;
      logic [31:0] in_epoch;
      logic [EPOCH-1:0] epoch, epochs;  // of the stretch
      logic [RATIO:0] turn, k, m;
      logic warm, epoch_end, stretch_end;
      // The next batch's row is read at the end of a batch, and is there when it begins.
      bank #(.BITS(STRETCH), .ADDRESS_BITS(LS), .BLOCK(0)) stretches (
        .clk(clk), .we(we), .wa(wa), .wd(wd), .re(start || next),
        .ra(start ? {LS{1'b0}} : next_at), .rd(now));
      assign epochs = now[EPOCH-1:0];
      assign k = {1'b0, now[EPOCH +: RATIO]};
      assign m = {1'b0, now[EPOCH+RATIO +: RATIO]};
      assign warm = now[EPOCH+2*RATIO];
      assign epoch_end = in_epoch + 32'd1 == epoch_batches;
      assign stretch_end = epoch_end && epochs != {EPOCH{1'b0}} && epoch + 1'b1 == epochs;
      assign next_at = stretch_end ? at + 1'b1 : at;
      assign phase = warm ? 3'(1 << adagp_pkg::PHASE_WARM) :
                     turn < k ? 3'(1 << adagp_pkg::PHASE_GP) : 3'(1 << adagp_pkg::PHASE_BP);
      always_ff @(posedge clk) begin
        if (start) begin
          at <= {LS{1'b0}};
          in_epoch <= 32'd0;
          epoch <= {EPOCH{1'b0}};
          turn <= {RATIO+1{1'b0}};
        end else if (next) begin
          in_epoch <= epoch_end ? 32'd0 : in_epoch + 32'd1;
          turn <= (epoch_end || turn + 1'b1 == k + m) ? {RATIO+1{1'b0}} : turn + 1'b1;
          if (epoch_end) epoch <= stretch_end ? {EPOCH{1'b0}} : epoch + 1'b1;
          at <= next_at;
        end
      end
    end else begin : g_no_table
      assign phase = 3'(1 << adagp_pkg::PHASE_BP);
    end
  endgenerate
endmodule
